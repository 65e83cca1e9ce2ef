"""Results of a window sweep as curves: points, medians, spans and intervals a series, and the lines physics allows.

A series is what the scenario's [report] names (`series`: a column of the results), the profile where it names none.
Medians are over valid trials only; trials that are not valid stay visible as points with their reasons.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from dashboard.data import Json, Run
from dashboard.intervals import Interval, finite, interval
from dashboard.reference import Point, Region, points, regions


@dataclass(frozen=True)
class Observation:
    """One trial's (and flow's) throughput."""

    trial: int
    window_bytes: int
    bps: float
    valid: bool
    reasons: str
    captured: bool
    stopped_share: float | None


@dataclass(frozen=True)
class Level:
    """Median and span (least, greatest) over the valid repeats at one window, bit/s; with enough of them the mean's
    confidence interval, and that of s where it was measured."""

    window_bytes: int
    median_bps: float
    low_bps: float
    high_bps: float
    count: int
    mean_bps: Interval | None = None
    stopped: Interval | None = None


@dataclass(frozen=True)
class Curve:
    """All trials of one series (a profile, a congestion control), by window."""

    series: str
    observations: tuple[Observation, ...]
    levels: tuple[Level, ...]


@dataclass(frozen=True)
class Physics:
    """What the path allows: round trip without queue (measured), bottleneck rate, where path and queue are full, and up
    to there window / measured round trip (window, bit/s): the law that a window-limited transfer obeys."""

    rtt_ns: float
    rate_bps: float
    knee_bytes: float
    law: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class RegionResult:
    """The paper's value of a region beside the measured one (median, least, greatest over valid trials)."""

    region: Region
    series: str
    measured: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Sweep:
    """All of a window sweep that is drawn or tabled. `failed`: trials that gave no throughput."""

    title: str
    paper: str
    curves: tuple[Curve, ...]
    physics: Physics | None
    reference: tuple[Point, ...]
    regions: tuple[Region, ...]
    results: tuple[RegionResult, ...]
    failed: int


def build(run: Run) -> Sweep | None:
    """The sweep of a run; None when it has fewer than two windows."""
    usable = [row for row in run.rows if _number(row, "window_bytes") and _number(row, "short_term_bps")]
    if len({row["window_bytes"] for row in usable}) < 2:
        return None
    column = _series_column(run, usable)
    names = _names(usable, column)
    found, physics = regions(run), _physics(usable)
    return Sweep(
        title=run.title,
        paper=run.paper,
        curves=tuple(_curve(name, column, usable, run.captured) for name in names),
        physics=physics,
        reference=points(run),
        regions=found,
        results=tuple(_region_results(found, column, names, usable, physics)),
        failed=len(run.rows) - len(usable),
    )


def _series_column(run: Run, rows: list[Json]) -> str:
    wanted = str((run.scenario.get("report") or {}).get("series") or "profile")
    return wanted if any(wanted in row for row in rows) else "profile"


def _names(rows: list[Json], column: str) -> list[str]:
    """Profiles by name, for their colours to be the same in every run; anything else in the order it was listed in."""
    in_order = sorted(rows, key=lambda row: int(row["trial"]))
    names = list(dict.fromkeys(str(row.get(column) or "") for row in in_order))
    return sorted(names) if column == "profile" else names


def _curve(name: str, column: str, rows: Iterable[Json], captured: frozenset[int]) -> Curve:
    own = [row for row in rows if str(row.get(column) or "") == name]
    observations = tuple(
        _observation(row, captured) for row in sorted(own, key=lambda row: (row["window_bytes"], row["trial"]))
    )
    windows = sorted({o.window_bytes for o in observations if o.valid})
    return Curve(name, observations, tuple(_level(window, observations) for window in windows))


def _observation(row: Json, captured: frozenset[int]) -> Observation:
    share = row.get("stopped_share")
    return Observation(
        trial=int(row["trial"]),
        window_bytes=int(row["window_bytes"]),
        bps=float(row["short_term_bps"]),
        valid=bool(row.get("valid")),
        reasons=str(row.get("reasons") or ""),
        captured=int(row["trial"]) in captured,
        stopped_share=None if share is None else float(share),
    )


def _level(window: int, observations: tuple[Observation, ...]) -> Level:
    own = [o for o in observations if o.valid and o.window_bytes == window]
    values = [o.bps for o in own]
    stopped = interval([o.stopped_share for o in own if o.stopped_share is not None])
    return Level(window, median(values), min(values), max(values), len(values), interval(values), stopped)


def _physics(rows: list[Json]) -> Physics | None:
    rtts = [value for row in rows if (value := _number(row, "rtt_min_ns"))]
    rates = [value for row in rows if (value := _number(row, "rate_bps"))]
    if not rtts or not rates:
        return None
    rtt, rate = median(rtts), median(rates)
    queue = median([_number(row, "queue_bytes") or 0.0 for row in rows])
    knee = rate * rtt / 8e9 + queue
    return Physics(rtt, rate, knee, _law([row for row in rows if row["window_bytes"] <= knee]))


def _law(rows: list[Json]) -> tuple[tuple[int, float], ...]:
    rates: dict[int, list[float]] = {}
    for row in rows:
        if rtt := _number(row, "rtt_median_ns"):
            rates.setdefault(int(row["window_bytes"]), []).append(row["window_bytes"] * 8e9 / rtt)
    return tuple((window, median(values)) for window, values in sorted(rates.items()))


def _region_results(
    found: tuple[Region, ...], column: str, names: list[str], rows: list[Json], physics: Physics | None
) -> Iterable[RegionResult]:
    """A slope is compared only where the line does not limit (window below 0.9 × rate × measured RTT)."""
    limit = 0.9 * physics.rate_bps * physics.rtt_ns / 8e9 if physics else math.inf
    for region in found:
        for name in names:
            own = [row for row in rows if str(row.get(column) or "") == name and row.get("valid")]
            values = [_measure(region, row) for row in own if _counts(region, row["window_bytes"], limit)]
            values = [value for value in values if math.isfinite(value)]
            if values:
                yield RegionResult(region, name, median(values), min(values), max(values), len(values))


def _counts(region: Region, window_bytes: int, slope_limit: float) -> bool:
    return region.holds(window_bytes) and (not region.slope or region.first_bytes <= window_bytes < slope_limit)


def _measure(region: Region, row: Json) -> float:
    """Throughput in bit/s; where throughput grows with the window, its ratio to window / measured RTT."""
    if not region.slope:
        return float(row["short_term_bps"])
    rtt = _number(row, "rtt_median_ns") or _number(row, "rtt_min_ns")
    return float(row["short_term_bps"]) * rtt / (row["window_bytes"] * 8e9) if rtt else math.nan


def _number(row: Json, key: str) -> float | None:
    value = row.get(key)
    return float(value) if finite(value) else None
