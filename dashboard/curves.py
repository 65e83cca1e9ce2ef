"""Results over one swept parameter as curves, one a series: any `[report] kind = "sweep"` but that over the window,
which has physics of its own (sweep.py). What the axes are says the scenario's [report] (`x`, `y`, `series`: columns of
the results).

Medians are over valid trials only; trials that are not valid stay visible as points with their reasons.
"""

from __future__ import annotations

from dataclasses import dataclass

from dashboard import reference
from dashboard.data import Json, Run
from dashboard.intervals import Span, finite, span
from dashboard.matrix import NAMES, show

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
    """One series. `points`: the valid trials; `levels`: their spans, by x, ascending, a captured trial first."""

    series: str
    points: tuple[Point, ...]
    levels: dict[Value, Span]


@dataclass(frozen=True)
class PaperPoint:
    """What the paper has; `series` empty: it names none."""

    x: Value
    y: float
    series: str
    note: str


@dataclass(frozen=True)
class Curves:
    """All that is drawn or tabled. `x_values`: ascending. `bound`: (x, the most that can pass), where the run says it.
    `failed`: trials that gave no value."""

    paper: str
    x: str
    y: str
    x_values: tuple[Value, ...]
    curves: tuple[Curve, ...]
    invalid: tuple[tuple[str, Point], ...]
    reference: tuple[PaperPoint, ...]
    bound: tuple[tuple[Value, float], ...]
    failed: int

    @property
    def x_name(self) -> str:
        return NAMES.get(self.x, self.x)

    @property
    def y_name(self) -> str:
        return NAMES.get(self.y, self.y)

    def x_text(self, value: Value) -> str:
        return show(self.x, value)

    def y_text(self, value: float) -> str:
        return show(self.y, value)


def build(run: Run) -> Curves | None:
    """The curves of a run; None when its report asks for none, or nothing was swept."""
    report = run.scenario.get("report") or {}
    x, y, series = str(report.get("x") or ""), str(report.get("y") or "short_term_bps"), str(report.get("series") or "")
    if report.get("kind", "sweep") != "sweep" or x in ("", "trial", "repeat", "window_bytes"):
        return None
    rows = sorted((row for row in run.rows if finite(row.get(y)) and row.get(x) is not None), key=lambda r: r["trial"])
    values = tuple(sorted({row[x] for row in rows}, key=lambda value: (isinstance(value, str), value)))
    if len(values) < 2:
        return None
    names = list(dict.fromkeys(str(row.get(series) or "") for row in rows))
    points = [(str(row.get(series) or ""), _point(row, x, y, run.captured), bool(row.get("valid"))) for row in rows]
    return Curves(
        paper=run.paper, x=x, y=y, x_values=values,
        curves=tuple(_curve(name, [p for own, p, valid in points if own == name and valid]) for name in names),
        invalid=tuple((name, point) for name, point, valid in points if not valid),
        reference=tuple(_reference(run, x, y, series)),
        bound=_bound(rows, x, y),
        failed=len(run.rows) - len(rows),
    )  # fmt: skip


def _point(row: Json, x: str, y: str, captured: frozenset[int]) -> Point:
    return Point(int(row["trial"]), row[x], float(row[y]), str(row.get("reasons") or ""), int(row["trial"]) in captured)


def _curve(series: str, points: list[Point]) -> Curve:
    by_x: dict[Value, list[Point]] = {}
    for point in points:
        by_x.setdefault(point.x, []).append(point)
    in_order = sorted(by_x, key=lambda x: (isinstance(x, str), x))
    return Curve(series, tuple(points), {x: _level(by_x[x]) for x in in_order})


def _level(points: list[Point]) -> Span:
    first = sorted(points, key=lambda point: not point.captured)
    return span([point.y for point in points], (point.trial for point in first))


def _reference(run: Run, x: str, y: str, series: str) -> list[PaperPoint]:
    rows = [row for row in reference.rows(run) if row.get(x) and row.get(y)]
    return [PaperPoint(float(r[x]), float(r[y]), str(r.get(series) or ""), str(r.get("note") or "")) for r in rows]


def _bound(rows: list[Json], x: str, y: str) -> tuple[tuple[Value, float], ...]:
    """Of a limit L (the gateways', else the line's) a path that loses the share p passes L × (1 − p) at most."""
    limits = {row.get("gateway_rate_bps") or row.get("rate_bps") for row in rows if row.get("gateway_rate_bps")}
    limits = limits or {row.get("rate_bps") for row in rows}
    limit = limits.pop() if len(limits) == 1 else None
    if x != "loss_ppb" or not y.endswith("_bps") or not limit:
        return ()
    return tuple((p, float(limit) * (1 - p / 1e9)) for p in sorted({int(row[x]) for row in rows}))
