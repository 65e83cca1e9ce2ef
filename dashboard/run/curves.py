"""Results over one swept setting as curves. Throughput over the window is left to sweep.py, which knows its physics.

asked.py says which axes the report has. Every other setting that differs makes series of its own (grouping.py), so that
trials at one x of one series are repeats. Medians are over valid trials only. Trials that are not valid stay visible as
points with their reasons.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dashboard.core.asked import NO_AXIS, PAPER, THEORY, THROUGHPUT, asked
from dashboard.core.grouping import Group, heading, listed, split
from dashboard.core.intervals import Span, finite, span
from dashboard.core.runs import Json, Run
from dashboard.run import reference, theory
from dashboard.run.theory import TheoryLine
from netcommon import readable
from netcommon.readable import Unit
from scenarios.plan import cells, columns

Value = float | str


@dataclass(frozen=True)
class Point:
    """One trial."""

    trial: int
    x: Value
    y: float
    reasons: str
    captured: bool


@dataclass(frozen=True)
class Curve:
    """One series. `points`: the valid trials. `levels`: the spans of repeats by ascending x; in each span a captured
    trial comes first."""

    series: str
    points: tuple[Point, ...]
    levels: dict[Value, Span]


@dataclass(frozen=True)
class PaperPoint:
    """A point of the paper; `series` is empty if the paper names none."""

    x: Value
    y: float
    series: str
    note: str


@dataclass(frozen=True)
class Curves:
    """Everything that is drawn or tabled. `x_values`: ascending. `failed`: number of trials without a value;
    `elsewhere`: number of trials that have no position on the x axis."""

    paper: str
    x: str
    x_name: str
    y: str
    x_values: tuple[Value, ...]
    curves: tuple[Curve, ...]
    invalid: tuple[tuple[str, Point], ...]
    reference: tuple[PaperPoint, ...]
    theory: tuple[TheoryLine, ...]
    failed: int
    elsewhere: int

    @property
    def y_name(self) -> str:
        return columns.label(self.y)

    @cached_property
    def x_texts(self) -> dict[Value, str]:
        """The texts of the measured values; different values have different texts."""
        return dict(zip(self.x_values, readable.distinct(self.x, self.x_values), strict=True))

    @cached_property
    def y_unit(self) -> Unit:
        """The unit of the y axis, by the greatest value."""
        greatest = max((abs(point.y) for curve in self.curves for point in curve.points), default=0.0)
        return readable.unit(self.y, greatest)

    def x_text(self, value: Value) -> str:
        return self.x_texts.get(value) or readable.named(self.x, value)

    def y_text(self, value: float) -> str:
        return readable.named(self.y, value)


def build(run: Run) -> Curves | None:
    """The curves of a run; None when its report asks for none, or when x has fewer than two values."""
    wanted = asked(run)
    x, y = wanted.x, wanted.y
    if wanted.kind != "sweep" or x in ("", *NO_AXIS) or (x, y) == ("window_bytes", THROUGHPUT):
        return None
    gave = [row for row in run.rows if finite(row.get(y))]
    rows = [row for row in listed(gave) if row.get(x) is not None]
    values = in_order([row[x] for row in rows])
    if len(values) < 2:
        return None
    groups = split(run, rows, [x], wanted.series)
    return Curves(
        paper=run.paper,
        x=x,
        x_name=heading(run, x),
        y=y,
        x_values=values,
        curves=tuple(_curve(group, x, y, run.captured) for group in groups),
        invalid=tuple(
            (group.name, _point(row, x, y, run.captured))
            for group in groups
            for row in group.rows
            if not row.get("valid")
        ),
        reference=tuple(_reference(run, x, y, wanted.series)),
        theory=theory.lines(groups, x, y, values),
        failed=len(run.rows) - len(gave),
        elsewhere=len(gave) - len(rows),
    )


def without(built: Curves, hide: Collection[str]) -> Curves:
    """The curves without what a reader hides: THEORY, PAPER."""
    shown = replace(built, theory=()) if THEORY in hide else built
    return replace(shown, reference=()) if PAPER in hide else shown


def in_order(values: Sequence[Value]) -> tuple[Value, ...]:
    """The distinct values for an axis: numbers ascending, texts in the scenario's order."""
    found = tuple(dict.fromkeys(values))
    return found if any(isinstance(value, str) for value in found) else tuple(sorted(found))


def _point(row: Json, x: str, y: str, captured: frozenset[int]) -> Point:
    return Point(int(row["trial"]), row[x], float(row[y]), str(row.get("reasons") or ""), int(row["trial"]) in captured)


def _curve(group: Group, x: str, y: str, captured: frozenset[int]) -> Curve:
    valid = [row for row in group.rows if row.get("valid")]
    by_x = {value: own for (value,), own in cells.groups(valid, [x]).items()}
    points = tuple(_point(row, x, y, captured) for row in valid)
    return Curve(group.name, points, {value: span(by_x[value], y, captured) for value in in_order(list(by_x))})


def _reference(run: Run, x: str, y: str, series: Sequence[str]) -> list[PaperPoint]:
    rows = [row for row in reference.rows(run) if row.get(x) and row.get(y)]
    own = [next((str(row[name]) for name in series if row.get(name)), "") for row in rows]
    return [
        PaperPoint(_placed(row[x]), float(row[y]), name, str(row.get("note") or ""))
        for row, name in zip(rows, own, strict=True)
    ]


def _placed(text: str) -> Value:
    """The value of a reference file on the x axis, as a number if it is one."""
    try:
        return float(text)
    except ValueError:
        return text
