"""What the scenario's [report] asks for, as columns of the results: axes, value and series.

A report may use the scenario's name or the column's: `path.queue` and `queue_bytes` mean the same. A name that is not a
column is reported in a note of one line. Rejected: an error. A run that took an hour has its figure, and whatever can
be drawn is drawn.

Where a report names no x, the settings that trials differ in are the axes. Two numeric settings make a matrix, and one
makes curves. Without a numeric setting, curves are drawn over the setting with most values. Rejected: a table alone,
which hides the shape that the sweep was made to show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.core.intervals import finite
from dashboard.core.runs import Json, Run
from netcommon import readable
from scenarios.plan import cells, columns

THROUGHPUT = "short_term_bps"
NO_AXIS = ("trial", "repeat")  # the scenario model's default x; the x with which a scenario asks for no figure
THEORY, PAPER = "theory", "paper"  # what a reader may hide of a figure
_UNNAMED = (None, "", NO_AXIS[0])  # values of x where the scenario names none
_FALLBACK = {"x": "", "y": THROUGHPUT, "value": THROUGHPUT, "series": ""}
_SAID_INSTEAD = {
    "x": "nothing is drawn over it",
    "y": "throughput is drawn",
    "value": "throughput is drawn",
    "series": "the settings that differ tell the lines apart",
}
_CPU_IN_VIRTUAL_TIME = "in virtual time it counts how often the clock was read, not work done"


@dataclass(frozen=True)
class Asked:
    """Columns. `x` empty: there is no axis. `series` is empty where the scenario names none. `notes`: sentences for the
    page."""

    kind: str
    x: str
    y: str
    value: str
    series: tuple[str, ...]
    notes: tuple[str, ...]


def asked(run: Run) -> Asked:
    """The report of a run, with all names resolved to columns."""
    report, notes = run.report, list[str]()
    kind = str(report.get("kind") or "sweep")
    axis = "y" if kind == "matrix" else ""
    found = {name: _column(run, name, report.get(name), name in ("x", axis), notes) for name in _FALLBACK}
    series = tuple(columns.find(str(report.get("series") or ""))) if found["series"] else ()
    distinct_notes = tuple(dict.fromkeys(notes))
    if kind == "sweep" and report.get("x") in _UNNAMED and (axes := chosen_axes(run, series)):
        if len(axes) == 2:
            return Asked("matrix", axes[0], axes[1], found["y"], series, distinct_notes)
        return Asked(kind, axes[0], found["y"], found["value"], series, distinct_notes)
    if kind == "matrix" and (axis := _only_axis(run, found["x"], found["y"])):
        return Asked("sweep", axis, found["value"], found["value"], series, distinct_notes)
    return Asked(kind, found["x"], found["y"], found["value"], series, distinct_notes)


def main_result(run: Run) -> str:
    """The result that the scenario's report is about: its least and greatest value over the valid trials."""
    asked = run.report.get("value" if run.report.get("kind") == "matrix" else "y") or THROUGHPUT
    column = next(iter(columns.find(str(asked))), THROUGHPUT)
    values = [float(row[column]) for row in run.rows if row.get("valid") and finite(row.get(column))]
    if not values:
        return readable.NOTHING
    ends = dict.fromkeys(readable.named(column, end) for end in (min(values), max(values)))
    return f"{columns.label(column)} {' to '.join(ends)}"


def _only_axis(run: Run, x: str, y: str) -> str:
    """The only axis with several values, where a matrix would be one row or one column, as after `--set` of the other
    axis. Such a matrix is drawn as curves. Empty where both axes differ, where neither does, and while trials are still
    to come."""
    numbers = [len({row.get(name) for row in run.rows}) for name in (x, y)]
    if run.state != "done" or not x or not y or min(numbers) != 1 or max(numbers) == 1:
        return ""
    return x if numbers[0] > 1 else y


def chosen_axes(run: Run, series: Sequence[str] = ()) -> tuple[str, ...]:
    """The axes for a report that names none: the two numeric settings with most values, x before y; or the only numeric
    one; or, without numeric ones, the setting with most values. Empty when trials differ in no setting. `series`:
    columns that cannot be axes because they name lines or panels. A setting that follows from others, or that some
    trials lack, cannot be an axis either."""
    telling = [name for name in cells.telling(run.rows, series, cells.preferred(run.sweep)) if name not in series]
    whole = [name for name in telling if all(row.get(name) is not None for row in run.rows)]
    numeric = [name for name in whole if columns.is_number(name)]
    ranked = sorted(numeric or whole, key=lambda name: -len({row[name] for row in run.rows}))
    return tuple(ranked[: 2 if numeric else 1])


def _column(run: Run, name: str, given: Any, axis: bool, notes: list[str]) -> str:
    """The column that the report names under `name`. `axis`: whether it has to be an axis; otherwise it has to be a
    measured value."""
    if given in (None, ""):
        return _FALLBACK[name] if not axis else ""
    text = str(given)
    candidates = columns.find(text) or ([text] if any(text in row for row in run.rows) else [])
    why = "" if candidates else f"no setting and no result has this name{_hint(text, name)}"
    chosen = _filled(run.rows, candidates) if candidates else ""
    if chosen and chosen not in (_FALLBACK[name], *NO_AXIS):
        why = _no_place(run, chosen) if axis or name == "series" else _no_value(run, chosen)
    if not why:
        return chosen
    notes.append(f'[report] {name} = "{text}": {why}; {_SAID_INSTEAD[name]}.')
    return "" if axis else _FALLBACK[name]


def _filled(rows: Sequence[Json], candidates: Sequence[str]) -> str:
    """The candidate that most rows have. For a setting with a number and a text (`path.loss`) this is the number,
    unless some rows have only the text."""
    most = [sum(row.get(name) is not None for row in rows) for name in candidates]
    return candidates[most.index(max(most))]


def _no_place(run: Run, column: str) -> str:
    """The reason why a column cannot be an axis; empty when it can."""
    return "" if any(row.get(column) is not None for row in run.rows) or not run.rows else "no trial has a value there"


def _no_value(run: Run, column: str) -> str:
    """The reason why a column cannot be drawn as a result; empty when it can."""
    if run.virtual and column.startswith("cpu_"):
        return _CPU_IN_VIRTUAL_TIME
    return "" if any(finite(row.get(column)) for row in run.rows) or not run.rows else "no trial has a number there"


def _hint(text: str, name: str) -> str:
    """`; did you mean 'path.queue'?`, without the list of all allowed names."""
    roles: tuple[columns.Role, ...] = ("outcome",) if name in ("y", "value") else ("setting", "outcome")
    return columns.did_you_mean(text, roles).partition(" allowed:")[0].rstrip(";")
