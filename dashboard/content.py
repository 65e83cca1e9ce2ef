"""What pages and report say in words and tables, as plain strings; neither Dash nor HTML.

A table is its head and its rows; a list of facts is (label, value) pairs. Whoever renders them escapes them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Any

import numpy as np

from dashboard import units
from dashboard.control import PAIR_WITHIN, Pair
from dashboard.curves import Curves
from dashboard.data import Json, Run, Trial
from dashboard.fig4 import LABELS, FirstStop
from dashboard.intervals import Interval, Span
from dashboard.matrix import NAMES, PARAMETERS, Matrix, show
from dashboard.reference import Region
from dashboard.sweep import RegionResult, Sweep
from dashboard.timeline import Timeline

Facts = list[tuple[str, str]]


@dataclass(frozen=True)
class Table:
    """Strings, row by row; `numeric`: columns to be set flush right."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()


def when(realtime_ns: Any) -> str:
    """`2025-10-09 08:53:20 UTC`; a dash for nothing."""
    if not realtime_ns:
        return "–"
    return datetime.fromtimestamp(int(realtime_ns) / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def run_facts(run: Run) -> Facts:
    """What was run: name, paper row, times, number of trials."""
    done = len(run.trial_numbers())
    facts = [
        ("Run", run.name),
        ("Scenario", str(run.manifest.get("name") or "–")),
        ("Reproduces", run.paper or "no row of a paper"),
        ("State", run.state),
        ("Trials", f"{done} of {run.manifest.get('plan') or done}"),
        ("Started", when(run.manifest.get("started_realtime_ns"))),
        ("Ended", when(run.manifest.get("ended_realtime_ns"))),
        ("Seed", str(run.manifest.get("seed", "–"))),
    ]
    return facts


def trial_row(run: Run, number: int) -> Json:
    """The trial's (first) row of the results; empty when there is none (yet)."""
    return next((row for row in run.rows if row.get("trial") == number), {})


def flow_name(trial: Trial, flow: int) -> str:
    """`flow 1: 10.0.0.1:40001 → 10.0.3.1:50000, 80 MB`."""
    summary = trial.flow_summary(flow)
    ends = " → ".join(_endpoint(summary.get(end)) for end in ("sender", "receiver"))
    return f"flow {flow}: {ends}, {units.data(summary.get('bytes'))}"


def trial_facts(run: Run, trial: Trial) -> Facts:
    """Measured numbers first, then the settings they belong to; of the capture, the flow with the most data."""
    row, params = trial_row(run, trial.number), trial.params
    flow_summary = trial.flow_summary(trial.flows[0]) if trial.flows else {}
    moved = (trial.transfer.get("summary") or {}).get("bytes")
    stopped = flow_summary.get("stopped_share", row.get("stopped_share"))
    facts = [
        ("Throughput", units.rate(row.get("short_term_bps"))),
        ("Peak", units.rate(row.get("peak_bps"))),
        ("Sending stopped", f"{units.share(stopped)} of the time (s)" if stopped is not None else "not captured"),
        ("Retransmissions", _count(flow_summary.get("retransmitted", row.get("retransmits")))),
        ("Lost segments", _count(flow_summary.get("lost"))),
        ("Time-outs", _count(flow_summary.get("timeouts", row.get("timeouts")))),
        ("RTT least, median", f"{units.duration(row.get('rtt_min_ns'))}, {units.duration(row.get('rtt_median_ns'))}"),
        ("Most in flight", units.size(flow_summary.get("max_in_flight_bytes"))),
        ("Moved", f"{units.data(moved)} in {units.duration(row.get('elapsed_ns'))}"),
        ("Window, granted", f"{units.size(params.get('window_bytes'))}, {units.size(row.get('window_granted_bytes'))}"),
        ("Profile", f"{params.get('profile', '–')}, {params.get('congestion', '–')}"),
        ("Path", f"{units.rate(params.get('rate_bps'))}, {units.duration(params.get('delay_ns'))} each way"),
        ("Queue", units.size(params.get("queue_bytes"))),
        ("MTU", _count(params.get("mtu"))),
        ("Gateways", _gateways(params)),
        ("CPU time of both gateways", units.duration(row.get("cpu_gateways_ns"))),
    ]
    return [(label, value) for label, value in facts if value != "–"]


def _gateways(params: Json) -> str:
    """`lft, router model, selective, limit 800 Mbit/s, aes-128-gcm in udp`."""
    if params.get("gateway") in (None, "none"):
        return "–"
    limit = params.get("gateway_rate_bps")
    parts = [params["gateway"], f"{params.get('gateway_model')} model", params.get("gateway_recovery")]
    parts += [f"limit {units.rate(limit)}" if limit else None]
    if params.get("gateway_cipher"):
        parts.append(f"{params['gateway_cipher']} in {params.get('gateway_carriage')}")
    return ", ".join(str(part) for part in parts if part)


def passage_facts(loaded: Timeline) -> Facts:
    """What a timeline with gateways says of them; nothing without."""
    if loaded.server is None:
        return []
    ms = np.quantile(loaded.through_gateways.value, (0, 0.5, 0.99)) / 1e6 if loaded.through_gateways.value.size else ()
    passage = ", ".join(f"{value:.4g}" for value in ms)
    most = int(loaded.inside_gateways.value.max(initial=0))
    return [
        ("Gateway in to gateway out: least, median, 99 %", f"{passage} ms" if passage else "–"),
        ("Most inside gateways and tunnel", units.size(most)),
    ]


def trial_name(run: Run, trial: Trial) -> str:
    """`Trial 40: bsd-1995, window 256 KB, repeat 1`; where windows size themselves by the path."""
    params = trial.params
    parts = [str(params.get("case") or params.get("profile") or "")]
    if params.get("window_bytes") or not params.get("rtt_ns"):
        parts.append(f"window {units.size(params.get('window_bytes'))}")
    else:
        parts += [f"RTT {show('rtt_ns', params['rtt_ns'])}", f"loss {params.get('loss') or '0'}"]
    if params.get("repeat") is not None:
        parts.append(f"repeat {params['repeat']}")
    return f"Trial {trial.number}: " + ", ".join(part for part in parts if part)


def region_table(sweep: Sweep) -> Table:
    """The paper's finding a region of the window axis beside what was measured."""
    head = ("Region", "Window", "Paper", "Series", "Measured: median", "Least to greatest", "Trials")
    rows = tuple(_region_row(result) for result in sweep.results)
    return Table(head, rows, frozenset({6}))


def _region_row(result: RegionResult) -> tuple[str, ...]:
    region = result.region
    if region.slope:
        measured = f"{result.measured:.3g} × window ÷ RTT"
        spread = f"{result.low:.3g} to {result.high:.3g}"
    else:
        measured, spread = units.rate(result.measured), f"{units.rate(result.low)} to {units.rate(result.high)}"
    window = f"{units.size(region.low_bytes)} to {units.size(region.high_bytes)}"
    return region.label, window, _expectation(region), result.series, measured, spread, str(result.count)


def failed_note(sweep: Sweep | Curves) -> str:
    """A sentence about trials that the sweep figure cannot show; empty when there are none."""
    return f" Not in the figure: {sweep.failed} without a throughput (see the table of trials)." if sweep.failed else ""


def _expectation(region: Region) -> str:
    """`45 Mbit/s (line rate)`, `slope (window / 12 ms)`: the paper's finding in a region."""
    if not region.points:
        return "–"
    notes = ", ".join(dict.fromkeys(point.note for point in region.points if point.note))
    value = "slope" if region.slope else units.rate(median(point.short_term_bps for point in region.points))
    return f"{value} ({notes})" if notes else value


def fact_table(paper: dict[str, tuple[float, str]], measured: FirstStop) -> Table:
    """The paper's facts about its Seq/Ack figure beside those of a timeline's first stop."""
    rows = [
        (label, show(paper[name][0]) if name in paper else "–", show(getattr(measured, name)))
        for name, (label, show) in LABELS.items()
    ]
    return Table(("First stop", "Paper", "Measured"), tuple(rows), frozenset({1, 2}))


def level_table(sweep: Sweep) -> Table:
    """Median and span of throughput a window and series: the sweep figure in numbers."""
    windows = sorted({o.window_bytes for curve in sweep.curves for o in curve.observations})
    by_curve = [{level.window_bytes: level for level in curve.levels} for curve in sweep.curves]
    rows = []
    for window in windows:
        cells = [units.size(window)]
        for levels in by_curve:
            level = levels.get(window)
            spread = f" ({level.low_bps / 1e6:.3g}–{level.high_bps / 1e6:.3g})" if level and level.count > 1 else ""
            cells.append(f"{level.median_bps / 1e6:.3g}{spread}" if level else "–")
        rows.append(tuple(cells))
    head = ("Window", *(f"{curve.series} (Mbit/s)" for curve in sweep.curves))
    return Table(head, tuple(rows), frozenset(range(len(head))))


def interval_table(sweep: Sweep) -> Table:
    """Mean throughput and mean s with 95 % intervals, a window and series; empty without enough repeats."""
    rows = [
        (units.size(level.window_bytes), curve.series, _plus_minus(level.mean_bps, 1e6, 2),
         _plus_minus(level.stopped, 1, 3), str(level.count))
        for curve in sweep.curves for level in curve.levels if level.mean_bps
    ]  # fmt: skip
    head = ("Window", "Series", "Mean (Mbit/s)", "s, stopped share", "Repeats")
    return Table(head, tuple(rows), frozenset({0, 2, 3, 4}))


def _plus_minus(value: Interval | None, unit: float, digits: int) -> str:
    return f"{value.mean / unit:.{digits}f} ± {value.half / unit:.{digits}f}" if value else "–"


def pair_table(pairs: Sequence[Pair]) -> Table:
    """Our congestion controls beside the kernel's own of the same algorithm."""
    rows = [
        (pair.kernel.name, units.rate(pair.kernel_bps), pair.ours.name, units.rate(pair.ours_bps),
         f"{pair.ours_bps / pair.kernel_bps:.3f}", units.share(pair.window_apart), "yes" if pair.agrees else "no")
        for pair in pairs
    ]  # fmt: skip
    head = ("Kernel's own", "Throughput", "Ours", "Throughput", "Ours ÷ kernel's", "cwnd apart, at most",
            f"Within {units.share(PAIR_WITHIN)}")  # fmt: skip
    return Table(head, tuple(rows), frozenset({1, 3, 4, 5}))


def matrix_table(matrix: Matrix) -> Table:
    """Every cell in numbers, beside the paper's where it has one."""
    rows = []
    for panel in matrix.panels:
        for (row, column), cell in sorted(panel.cells.items()):
            paper = panel.paper.get((row, column))
            rows.append(
                (
                    panel.series, matrix.y.texts()[row], matrix.x.texts()[column], show(matrix.value, cell.median),
                    f"{show(matrix.value, cell.low)} to {show(matrix.value, cell.high)}", str(len(cell.trials)),
                    "–" if paper is None else show(matrix.value, paper),
                )
            )  # fmt: skip
    head = ("Series", matrix.y.name, matrix.x.name, "Median", "Least to greatest", "Trials", "Paper")
    return Table(head, tuple(rows), frozenset({1, 2, 3, 4, 5, 6}))


def curve_table(built: Curves) -> Table:
    """The curves in numbers: a row an x, a column a series, and the paper's."""
    invalid = {(name, point.x) for name, point in built.invalid}
    paper = {point.x: point for point in built.reference}
    rows = []
    for x in built.x_values:
        cells = [built.x_text(x)]
        for curve in built.curves:
            cells.append(_level_text(built, curve.levels.get(x), "not valid" if (curve.series, x) in invalid else "–"))
        if paper:
            cells.append(built.y_text(paper[x].y) if x in paper else "–")
        rows.append(tuple(cells))
    head = (built.x_name, *(curve.series or built.y_name for curve in built.curves), *(("Paper",) if paper else ()))
    return Table(head, tuple(rows), frozenset(range(len(head))))


def _level_text(built: Curves, level: Span | None, otherwise: str) -> str:
    if level is None:
        return otherwise
    spread = f" ({built.y_text(level.low)} to {built.y_text(level.high)})" if len(level.trials) > 1 else ""
    return built.y_text(level.median) + spread


def left_out_note(matrix: Matrix) -> str:
    """A sentence about trials that no cell counts; empty when there are none."""
    return f" {matrix.left_out} trials failed or are not valid and count in no cell." if matrix.left_out else ""


def varied(run: Run) -> list[str]:
    """Columns of the results that tell this run's trials apart: what was swept; profile and window when nothing was."""
    found = [name for name in PARAMETERS if len({row.get(name) for row in run.rows}) > 1]
    if "rtt_ns" in found and "delay_ns" in found:  # two names of one sweep
        found.remove("delay_ns")
    if "case" in found:  # and no column that a case decides
        found = [name for name in found if name == "case" or not _decided(run, name)]
    return found or ["profile", "window_bytes"]


def _decided(run: Run, name: str) -> bool:
    """Whether every case has one value in a column."""
    return len({(row.get("case"), row.get(name)) for row in run.rows}) == len({row.get("case") for row in run.rows})


def trial_table(run: Run) -> Table:
    """All rows of the results, in order of trials."""
    swept = varied(run)
    head = ("Trial", *(NAMES[name] for name in swept), *OUTCOME_HEAD, "State", "Verdict")
    rows = [
        (
            str(row.get("trial", "–")),
            *(cell(row, name) for name in swept),
            *outcome(row),
            str(row.get("state") or "–"),
            "valid" if row.get("valid") else f"not valid: {row.get('reasons') or 'no reason given'}",
        )
        for row in sorted(run.rows, key=lambda row: row.get("trial") or 0)
    ]
    return Table(head, tuple(rows), frozenset(range(1 + len(swept) + len(OUTCOME_HEAD))))


def cell(row: Json, column: str) -> str:
    """A parameter of a trial as people read it."""
    value = row.get(column)
    return "–" if value is None else show(column, value)


OUTCOME_HEAD = ("Throughput", "Stopped (s)", "Resent", "Time-outs")


def outcome(row: Json) -> tuple[str, ...]:
    """What a trial measured, by OUTCOME_HEAD."""
    return (
        units.rate(row.get("short_term_bps")),
        units.share(row.get("stopped_share")),
        _count(row.get("retransmits")),
        _count(row.get("timeouts")),
    )


def stop_table(loaded: Timeline) -> Table:
    """Every stop with its cause, times in s from the first segment."""
    rows = [(f"{s.t0_ns / 1e9:.3f}", f"{(s.t1_ns - s.t0_ns) / 1e9:.3f}", s.text) for s in loaded.stops]
    return Table(("At (s)", "For (s)", "Why"), tuple(rows), frozenset({0, 1}))


def environment_facts(run: Run) -> Facts:
    """Machine, kernel, versions, settings, hashes: from the manifest, flattened."""
    keys = ("machine", "kernel", "versions", "sysctls", "offloads", "hashes", "clock")
    return [fact for key in keys if key in run.manifest for fact in _flatten(key, run.manifest[key])]


def scenario_text(run: Run) -> str:
    """The scenario as resolved, as indented JSON."""
    return json.dumps(run.scenario, indent=2, ensure_ascii=False)


def _flatten(name: str, value: Any) -> Facts:
    if isinstance(value, dict):
        return [fact for key, inner in value.items() for fact in _flatten(f"{name} · {key}", inner)]
    if isinstance(value, list):
        return [(name, ", ".join(str(item) for item in value))]
    return [(name, str(value))]


def _endpoint(value: Any) -> str:
    return f"{value.get('address')}:{value.get('port')}" if isinstance(value, dict) else str(value or "?")


def _count(value: Any) -> str:
    return "–" if value is None else units.count(float(value))
