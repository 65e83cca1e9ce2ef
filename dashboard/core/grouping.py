"""Divides the trials of a run into series, so that no series has two settings at one position of an axis.

Two trials of a series that agree in the axes differ in nothing but repeat and seed: every other swept setting makes
series of its own. Rejected: series by the report's names alone. That counted three queue sizes as three repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.core.runs import Json, Run
from netcommon import readable
from scenarios.plan import cells


@dataclass(frozen=True)
class Group:
    """A series: its name (empty when there is only one and nothing names it) and its rows in listed order."""

    name: str
    rows: tuple[Json, ...]

    def value(self, names: Sequence[str]) -> str:
        """The common value of all rows in the first of these columns that has one, as text; empty when there is
        none."""
        for name in names:
            found = {row.get(name) for row in self.rows}
            if len(found) == 1 and (value := found.pop()) is not None:
                return str(value)
        return ""


def listed(rows: Sequence[Json]) -> list[Json]:
    """The rows in the order in which the scenario lists them."""
    return sorted(rows, key=lambda row: (int(row.get("trial") or 0), int(row.get("flow") or 0)))


def split(run: Run, rows: Sequence[Json], axes: Sequence[str], series: Sequence[str]) -> list[Group]:
    """The series of `rows` over `axes`, in listed order. `series`: columns that the report names. Each group has one
    value in them, and in every other column that distinguishes it from the others."""
    in_order = listed(rows)
    own = [name for name in series if any(row.get(name) is not None for row in in_order)]
    names = _needed(in_order, own, cells.telling(in_order, [*axes, *own], cells.preferred(run.sweep)))
    texts = cells.texts(in_order, names)
    return [Group(texts[key], tuple(found)) for key, found in cells.groups(in_order, names).items()]


def _needed(rows: Sequence[Json], series: Sequence[str], telling: Sequence[str]) -> list[str]:
    """All of these columns except those that only repeat the others, such as the text of `path.loss`, or a profile that
    the case decides."""
    names = [*series, *telling]
    count = len(cells.groups(rows, names))
    for name in reversed(series):
        others = [other for other in names if other != name]
        if others and len(cells.groups(rows, others)) == count:
            names = others
    return names


def heading(run: Run, column: str) -> str:
    """A column's name over a table or on an axis: the scenario's name of its setting, as the run's sweep spells it, or
    the column in words where no scenario sets it."""
    return cells.heading(column, run.sweep)


def in_words(run: Run, names: Sequence[str], row: Json) -> list[str]:
    """A row's settings for a title: `profile.name bsd-1995`, `transfer.window 256 KB`. Different values have different
    texts."""
    said = []
    for name in names:
        values = list(dict.fromkeys(own.get(name) for own in (*run.rows, row)))
        shown = dict(zip(values, readable.distinct(name, values), strict=True))
        value = row.get(name)
        said.append(f"{heading(run, name)} {'default' if value is None else shown[value]}")
    return said


def varied(run: Run) -> list[str]:
    """Columns of the results that tell this run's trials apart, those of the sweep first; empty when nothing varies."""
    return cells.telling(run.rows, (), cells.preferred(run.sweep))


def between_trials(run: Run) -> list[str]:
    """The same without what only distinguishes the flows of one trial."""
    return cells.telling([row for row in run.rows if not row.get("flow")], (), cells.preferred(run.sweep))
