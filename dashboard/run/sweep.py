"""Results of a window sweep as curves: points, medians, spans and intervals for each series, and the physical limits.

Series are made of the settings that the scenario's [report] names (the profile where it names none) and of every other
setting that differs (grouping.py). So trials at one window of one series are repeats. Medians are over valid trials
only. Trials that are not valid stay visible as points with their reasons.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from dashboard.core import physics
from dashboard.core.asked import PAPER, THEORY, asked
from dashboard.core.grouping import Group, split
from dashboard.core.intervals import Interval, Span, finite, interval, span
from dashboard.core.physics import Guide, Measured
from dashboard.core.runs import Json, Run
from dashboard.run.reference import Point, Region, points, regions
from scenarios.plan import cells

THROUGHPUT, WINDOW = "short_term_bps", "window_bytes"


@dataclass(frozen=True)
class Observation:
    """The throughput of one trial and flow."""

    trial: int
    window_bytes: int
    bps: float
    valid: bool
    reasons: str
    captured: bool
    stopped_share: float | None


@dataclass(frozen=True)
class Level:
    """The valid repeats at one window: the span of throughput in bit/s. With enough repeats that are not copies, also
    the confidence interval of the mean throughput, and of the mean s where s was measured."""

    window_bytes: int
    bps: Span
    mean_bps: Interval | None = None
    stopped: Interval | None = None


@dataclass(frozen=True)
class Curve:
    """All trials of one series, by window."""

    series: str
    observations: tuple[Observation, ...]
    levels: tuple[Level, ...]


@dataclass(frozen=True)
class RegionResult:
    """The paper's value in a region and the measured one (median, least, greatest over valid trials). The trials differ
    in window, repeat and seed only. `distinct`: how many of them are not copies."""

    region: Region
    series: str
    measured: float
    low: float
    high: float
    trials: tuple[int, ...]
    distinct: int


@dataclass(frozen=True)
class Sweep:
    """Everything of a window sweep that is drawn or tabled. `failed`: number of trials without a throughput; `unsized`:
    number of trials whose window the kernel sized; `notes`: sentences about what is not drawn."""

    paper: str
    curves: tuple[Curve, ...]
    guides: tuple[Guide, ...]
    measured: tuple[Measured, ...]
    reference: tuple[Point, ...]
    regions: tuple[Region, ...]
    results: tuple[RegionResult, ...]
    failed: int
    unsized: int
    notes: tuple[str, ...]


def build(run: Run) -> Sweep | None:
    """The window sweep of a run; None when the run has fewer than two windows."""
    gave = [row for row in run.rows if _number(row, THROUGHPUT)]
    usable = [row for row in gave if _number(row, WINDOW)]
    if len({row[WINDOW] for row in usable}) < 2:
        return None
    groups = _groups(run, usable)
    found, (lines, notes) = regions(run), physics.guides(groups)
    results, refused = _region_results(found, groups, lines)
    return Sweep(
        paper=run.paper,
        curves=tuple(_curve(group, run.captured) for group in groups),
        guides=lines,
        measured=physics.measured(groups, lines),
        reference=points(run),
        regions=found,
        results=results,
        failed=len(run.rows) - len(gave),
        unsized=len(gave) - len(usable),
        notes=notes + refused,
    )


def without(built: Sweep, hide: Collection[str]) -> Sweep:
    """The sweep without what a reader hides: THEORY, PAPER."""
    shown = replace(built, guides=(), measured=()) if THEORY in hide else built
    return replace(shown, reference=()) if PAPER in hide else shown


def _groups(run: Run, rows: Sequence[Json]) -> list[Group]:
    """The series. Profiles are sorted by name, so that a profile has the same colour in every run."""
    series = asked(run).series or ("profile",)
    groups = split(run, rows, [WINDOW], series)
    return sorted(groups, key=lambda group: group.value(["profile"])) if series == ("profile",) else groups


def _curve(group: Group, captured: frozenset[int]) -> Curve:
    rows = sorted(group.rows, key=lambda row: (row[WINDOW], row["trial"]))
    valid = cells.groups([row for row in rows if row.get("valid")], [WINDOW])
    levels = tuple(_level(int(window), own, captured) for (window,), own in valid.items())
    return Curve(group.name, tuple(_observation(row, captured) for row in rows), levels)


def _observation(row: Json, captured: frozenset[int]) -> Observation:
    share = row.get("stopped_share")
    return Observation(
        trial=int(row["trial"]),
        window_bytes=int(row[WINDOW]),
        bps=float(row[THROUGHPUT]),
        valid=bool(row.get("valid")),
        reasons=str(row.get("reasons") or ""),
        captured=int(row["trial"]) in captured,
        stopped_share=None if share is None else float(share),
    )


def _level(window: int, repeats: list[Json], captured: frozenset[int]) -> Level:
    independent = cells.observations(repeats)
    stopped = [float(row["stopped_share"]) for row in independent if row.get("stopped_share") is not None]
    mean = interval([float(row[THROUGHPUT]) for row in independent])
    return Level(window, span(repeats, THROUGHPUT, captured), mean, interval(stopped))


def _region_results(
    found: Sequence[Region], groups: Sequence[Group], lines: Sequence[Guide]
) -> tuple[tuple[RegionResult, ...], tuple[str, ...]]:
    """The regions' results. A slope is compared only where the line does not limit the rate (window below 0.9 × rate ×
    measured RTT). A series whose trials differ in more than the window has no results, and a note says so."""
    results: list[RegionResult] = []
    notes: list[str] = []
    for group in groups:
        other = [name for name in cells.varied(group.rows) if name != WINDOW]
        if other and found:
            notes.append(f"{group.name}: not compared with the paper's regions, its windows differ in other settings.")
            continue
        limit = 0.9 * _path_bytes(lines, group.name)
        results += [result for region in found if (result := _region_result(region, group, limit))]
    return tuple(sorted(results, key=lambda result: found.index(result.region))), tuple(notes)


def _path_bytes(lines: Sequence[Guide], series: str) -> float:
    """Rate × measured RTT; infinite where either is not known."""
    own = {line.kind: line.value for line in lines if line.series in ("", series)}
    return own["rate"] * own["law"] / 8e9 if {"rate", "law"} <= own.keys() else math.inf


def _region_result(region: Region, group: Group, limit: float) -> RegionResult | None:
    own = [row for row in group.rows if row.get("valid") and _counts(region, row[WINDOW], limit)]
    measured = {int(row["trial"]): value for row in own if math.isfinite(value := _measure(region, row))}
    if not measured:
        return None
    rows = [row for row in own if int(row["trial"]) in measured]
    distinct = sum(len(cells.observations(repeats)) for repeats in cells.groups(rows, [WINDOW]).values())
    values: Iterable[float] = measured.values()
    return RegionResult(region, group.name, median(values), min(values), max(values), tuple(measured), distinct)


def _counts(region: Region, window_bytes: int, slope_limit: float) -> bool:
    return region.holds(window_bytes) and (not region.slope or region.first_bytes <= window_bytes < slope_limit)


def _measure(region: Region, row: Json) -> float:
    """The throughput in bit/s. Where throughput grows with the window: its ratio to window / measured RTT."""
    if not region.slope:
        return float(row[THROUGHPUT])
    rtt = _number(row, "rtt_median_ns") or _number(row, "rtt_min_ns")
    return float(row[THROUGHPUT]) * rtt / (row[WINDOW] * 8e9) if rtt else math.nan


def _number(row: Json, key: str) -> float | None:
    value = row.get(key)
    return float(value) if finite(value) else None
