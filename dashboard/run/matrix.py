"""Results over two swept settings as grids: a panel for each series, and in each cell the median over valid repeats.

asked.py says which axes the report has. Every other setting that differs makes panels of its own (grouping.py), so that
a cell's trials are repeats. Trials that are not valid do not count. A cell without valid trials is empty, and a note
says how many trials were left out.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dashboard.core.asked import NO_AXIS, PAPER, asked
from dashboard.core.grouping import Group, heading, listed, split
from dashboard.core.intervals import Span, finite, span
from dashboard.core.runs import Json, Run
from dashboard.run import reference
from dashboard.run.curves import in_order
from netcommon import readable
from scenarios.plan import columns

Place = tuple[int, int]  # index of y, index of x


@dataclass(frozen=True)
class Axis:
    """A swept column with its distinct values: numbers ascending, texts in the scenario's order."""

    column: str
    name: str
    values: tuple[float | str, ...]

    @cached_property
    def texts(self) -> list[str]:
        """The texts of the values; different values have different texts."""
        return readable.distinct(self.column, self.values)


@dataclass(frozen=True)
class Panel:
    """One series, its cells by row and column. A cell is missing where nothing was measured, or no trial is valid."""

    series: str
    cells: dict[Place, Span]
    paper: dict[Place, float]


@dataclass(frozen=True)
class Matrix:
    """Everything that is drawn or tabled. `left_out`: number of trials that failed or are not valid; `elsewhere`:
    number of trials that have no position on an axis."""

    paper: str
    value: str
    x: Axis
    y: Axis
    panels: tuple[Panel, ...]
    left_out: int
    elsewhere: int

    @property
    def value_name(self) -> str:
        return columns.label(self.value)

    def value_text(self, value: float) -> str:
        return readable.named(self.value, value)


def build(run: Run) -> Matrix | None:
    """The grids of a run; None when its report asks for none, when it has no two axes, or while no trial is done."""
    wanted = asked(run)
    names = wanted.x, wanted.y
    if wanted.kind != "matrix" or {"", *NO_AXIS}.intersection(names) or wanted.x == wanted.y:
        return None
    placed = [row for row in listed(run.rows) if all(row.get(name) is not None for name in names)]
    if not placed:
        return None
    good = [row for row in placed if row.get("valid") and finite(row.get(wanted.value))]
    x, y = (Axis(name, heading(run, name), in_order([row[name] for row in placed])) for name in names)
    points = reference.rows(run)
    panels = tuple(
        _panel(group, x, y, wanted.value, _of(points, wanted.series, group))
        for group in split(run, placed, names, wanted.series)
    )
    return Matrix(run.paper, wanted.value, x, y, panels, len(placed) - len(good), len(run.rows) - len(placed))


def without(built: Matrix, hide: Collection[str]) -> Matrix:
    """The grids without what a reader hides: PAPER."""
    return replace(built, panels=tuple(replace(panel, paper={}) for panel in built.panels)) if PAPER in hide else built


def _panel(group: Group, x: Axis, y: Axis, value: str, points: Sequence[Json]) -> Panel:
    found: dict[Place, list[Json]] = {}
    for row in group.rows:
        if row.get("valid") and finite(row.get(value)) and (place := _place(row, x, y)) is not None:
            found.setdefault(place, []).append(row)
    return Panel(group.name, {place: span(own, value) for place, own in found.items()}, _paper(points, x, y, value))


def _of(points: Sequence[Json], series: Sequence[str], group: Group) -> list[Json]:
    """The paper's points that belong to a panel. A point without a series belongs to every panel."""
    own = group.value(series)
    return [row for row in points if next((row[name] for name in series if row.get(name)), own) == own]


def _paper(points: Sequence[Json], x: Axis, y: Axis, value: str) -> dict[Place, float]:
    """The paper's values at the rows and columns that were measured."""
    found = {}
    for point in points:
        if point.get(value) and (place := _place(point, x, y)) is not None:
            found[place] = float(point[value])
    return found


def _place(row: Json, x: Axis, y: Axis) -> Place | None:
    places = []
    for axis in (y, x):
        wanted = row.get(axis.column)
        match = [n for n, value in enumerate(axis.values) if _same(value, wanted)]
        if not match:
            return None
        places.append(match[0])
    return places[0], places[1]


def _same(value: float | str, wanted: object) -> bool:
    if isinstance(value, str | bool) or isinstance(wanted, bool) or wanted in (None, ""):
        return value == wanted
    return math.isclose(float(value), float(str(wanted)))
