"""Results over two swept parameters as grids: one panel a series, a cell the median over valid repeats.

What the axes are says the scenario's [report] (`kind = "matrix"`, `x`, `y`, `value`, `series`: columns of the results).
Trials that are not valid do not count; a cell that has no others is empty, and is said to be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dashboard import reference, units
from dashboard.data import Json, Run
from dashboard.intervals import Span, finite, span

PARAMETERS = {
    "case": "Case",
    "profile": "Profile", "gateway": "Gateway", "congestion": "Congestion control", "window_bytes": "Window",
    "rtt_ns": "Round-trip time", "delay_ns": "Delay, one way", "loss_ppb": "Loss", "rate_bps": "Rate",
    "queue_bytes": "Queue", "mtu": "MTU", "gateway_recovery": "Recovery", "gateway_cipher": "Cipher",
    "gateway_rate_bps": "Gateways' limit",
}  # fmt: skip
NAMES = PARAMETERS | {
    "short_term_bps": "Short-term throughput",
    "peak_bps": "Peak throughput",
    "retransmits": "Retransmissions",
}
FORMATS: dict[str, Callable[[float], str]] = {
    "ns": units.duration, "bps": units.rate, "bytes": units.size, "ppb": lambda value: f"{value / 1e7:.4g} %",
}  # fmt: skip


@dataclass(frozen=True)
class Axis:
    """A swept column: its distinct values, ascending."""

    column: str
    values: tuple[float | str, ...]

    @property
    def name(self) -> str:
        return NAMES.get(self.column, self.column)

    def texts(self) -> list[str]:
        return [show(self.column, value) for value in self.values]


@dataclass(frozen=True)
class Panel:
    """One series: cells by (index of y, index of x); what is not there was not measured or is not valid."""

    series: str
    cells: dict[tuple[int, int], Span]
    paper: dict[tuple[int, int], float]


@dataclass(frozen=True)
class Matrix:
    """All that is drawn or tabled. `left_out`: trials that failed or are not valid."""

    paper: str
    value: str
    x: Axis
    y: Axis
    panels: tuple[Panel, ...]
    left_out: int

    @property
    def value_name(self) -> str:
        return NAMES.get(self.value, self.value)


def show(column: str, value: float | str) -> str:
    """A value of a column as people read it, by the unit in the column's name."""
    if isinstance(value, str):
        return value
    formatter = FORMATS.get(column.rsplit("_", 1)[-1])
    return formatter(value) if formatter else f"{value:.4g}"


def build(run: Run) -> Matrix | None:
    """The grids of a run; None when its report asks for none."""
    report = run.scenario.get("report") or {}
    if report.get("kind") != "matrix":
        return None
    value, series = report.get("value") or "short_term_bps", report.get("series") or ""
    rows = [row for row in run.rows if row.get("valid") and finite(row.get(value))]
    x, y = (_axis(report[name], run.rows) for name in ("x", "y"))
    in_order = sorted(run.rows, key=lambda row: int(row["trial"]))
    names = list(dict.fromkeys(str(row.get(series) or "") for row in in_order))
    points = reference.rows(run)
    panels = tuple(
        Panel(name, _cells(_of(rows, series, name), x, y, value), _paper(_of(points, series, name), x, y, value))
        for name in names
    )
    return Matrix(run.paper, value, x, y, panels, len(run.rows) - len(rows))


def _of(rows: Sequence[Json], series: str, name: str) -> list[Json]:
    """Rows of one series; a paper's point without a series belongs to each."""
    return [row for row in rows if row.get(series) in (None, "") or str(row.get(series)) == name]


def _axis(column: str, rows: Sequence[Json]) -> Axis:
    values = {row[column] for row in rows if row.get(column) is not None}
    return Axis(column, tuple(sorted(values, key=lambda value: (isinstance(value, str), value))))


def _cells(rows: Sequence[Json], x: Axis, y: Axis, value: str) -> dict[tuple[int, int], Span]:
    found: dict[tuple[int, int], list[Json]] = {}
    for row in rows:
        place = _place(row, x, y)
        if place is not None:
            found.setdefault(place, []).append(row)
    return {place: span([float(r[value]) for r in own], (int(r["trial"]) for r in own)) for place, own in found.items()}


def _paper(points: Sequence[Json], x: Axis, y: Axis, value: str) -> dict[tuple[int, int], float]:
    """The paper's values, at the places that were measured."""
    found = {}
    for point in points:
        if value in point and (place := _place(point, x, y)) is not None:
            found[place] = float(point[value])
    return found


def _place(row: Json, x: Axis, y: Axis) -> tuple[int, int] | None:
    places = []
    for axis in (y, x):
        wanted = row.get(axis.column)
        match = [n for n, value in enumerate(axis.values) if _same(value, wanted)]
        if not match:
            return None
        places.append(match[0])
    return places[0], places[1]


def _same(value: float | str, wanted: object) -> bool:
    if isinstance(value, str) or wanted in (None, ""):
        return value == wanted
    return math.isclose(float(value), float(str(wanted)))
