"""Makes the view of a run that ``lfp show`` prints. The verb's own module prints and caches the view, because loading
this module takes most of the time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from netcommon import readable, result_rows, run_format
from scenarios.plan import cells
from scenarios.plan.shared_settings import shared_settings
from scenarios.run import compare, imported, results, runs
from scenarios.run.progress import outcome, together
from scenarios.run.terminal import console, print_table
from scenarios.statistics import intervals
from scenarios.trial import attempts, verdicts
from scenarios.trial.files import read_json

Part = tuple[Any, ...]  # ("line", text) or ("table", headings, rows)


def as_json(run_dir: Path) -> Iterator[str]:
    """One JSON object for each trial."""
    for folder in runs.trial_folders(run_dir.resolve()):
        with _damage_named(run_dir, [folder]):
            first, *others = _flows(folder)
        flows = {"flows": [{"params": one["params"], "metrics": one["metrics"]} for one in others]}
        yield json.dumps(first | (flows if others else {}), ensure_ascii=False)


def as_csv(run_dir: Path) -> bytes:
    """The results: a row for each trial and flow, the run's name first."""
    folders = runs.trial_folders(run_dir.resolve())
    with _damage_named(run_dir, folders):
        rows = [row for folder in folders for row in results.rows(folder)]
        names = [name for name in results.SCHEMA.names if any(row.get(name) is not None for row in rows)]
        return result_rows.csv(
            [{"run": run_dir.resolve().name} | {name: row.get(name) for name in names} for row in rows]
        )


def view(run_dir: Path) -> list[Part]:
    """What ``lfp show RUN`` prints, to be printed now or later."""
    folders = runs.trial_folders(run_dir.resolve())
    with _damage_named(run_dir, folders):
        return list(_view(run_dir, [one for folder in folders for one in _flows(folder)], len(folders)))


@contextmanager
def _damage_named(run_dir: Path, folders: Sequence[Path]) -> Iterator[None]:
    """Reports damage: in a stranger's run any value may be of any type."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise run_format.damage(run_dir, folders, error) from error


def _flows(folder: Path) -> list[dict[str, Any]]:
    """A trial for ``--json``, once for each of its flows: resolved parameters, metrics with units in their names,
    verdict, path of its files."""
    params, status = read_json(folder / "params.json"), read_json(folder / "status.json")
    apart = {*params, "state", "valid", "reasons"}
    return [
        {
            "v": 1,
            "trial": params["trial"],
            "state": status["state"],
            "error": status["error"],
            "params": {key: row[key] for key in params},
            "metrics": {key: value for key, value in row.items() if key not in apart},
            "verdict": status["verdict"],
            "asked": status.get("asked", []),
            "path": str(folder),
        }
        for row in results.rows(folder)
    ]


def print_summary(run_dir: Path, metric: str) -> None:
    """A line for each setting, with its interval and outliers."""
    table = compare.Table.load(run_dir)
    compare.check_metric(metric, table, option="--summary")
    good, out = table.good(metric), console()
    names = cells.telling(table.rows, (), cells.preferred(table.sweep))
    summaries = intervals.summaries(good, metric, names)
    texts = cells.texts_by_column(table.rows, names)
    headings = (*(cells.heading(name, table.sweep) for name in names), "repeats", "median", "95 %", "outliers")
    print_table(
        out,
        headings,
        [
            (
                *(texts[name][one.setting[name]] for name in names),
                cells.repeats_text(one.trials, one.distinct),
                readable.named(metric, one.median),
                _interval(metric, one.interval),
                _outliers(one.outliers),
            )
            for one in summaries
        ],
    )
    out.print(
        f"{metric} of valid trials: median, its bootstrap interval, and trials beyond Tukey's fences; both need "
        f"{intervals.ENOUGH} repeats that differ",
        markup=False,
    )
    for line in compare.left_out(metric, compare.invalid_trials(table.rows), compare.lacking(table.rows, metric)):
        out.print(line, markup=False)


def _interval(metric: str, ends: tuple[float, float] | None) -> str:
    return "" if ends is None else " … ".join(readable.named(metric, end) for end in ends)


def _outliers(numbers: tuple[int, ...]) -> str:
    return f"trial {', '.join(map(str, numbers))}" if numbers else ""


def _view(run_dir: Path, trials: list[dict[str, Any]], count: int) -> Iterator[Part]:
    """``trials``: one for each flow; ``count``: how many trials these are."""
    manifest = runs.manifest(run_dir)
    sweep = list((manifest.get("scenario") or {}).get("sweep") or ())
    paper = f"reproduces {manifest['paper']}" if manifest["paper"] else ""
    seed = "" if manifest["seed"] is None else f"seed {manifest['seed']}"
    heading = (str(run_dir), manifest["title"], paper, seed)
    yield "line", "  ".join(part for part in heading if part)
    summary = (manifest["verdict"] or {}).get("summary")  # older runs have none
    state = f"{manifest['state']}, {count} of {manifest['plan']} trials"
    if enough := len(manifest.get("enough") or []):
        state += f", {enough} not needed: run.precision is reached"
    yield "line", f"{state}; {summary}" if summary else state
    settings = [trial["params"] for trial in trials]
    if common := shared_settings(settings, sweep):
        yield "line", "  ".join(f"{name} {text}" for name, text in common)
    factors = cells.telling(settings, (), cells.preferred(sweep))
    captured = any(_limited(trial["metrics"]) for trial in trials)
    several = any(trial["params"].get("beside") or trial["metrics"].get("flows_common_ns") for trial in trials)
    headings = (
        "trial",
        *(cells.heading(name, sweep) for name in factors),
        "sender's RTT",
        "s",
        *(["most limited by"] if captured else []),
        *(["share while all run"] if several else []),
        "exchanges, verdict" if trials and all(map(_exchanging, trials)) else "short-term average, verdict",
    )
    texts = cells.texts_by_column(settings, factors)
    rows = [
        (
            str(trial["trial"]),
            *(texts[name][trial["params"].get(name)] for name in factors),
            *_measured(trial, captured, several),
        )
        for trial in trials
    ]
    yield "table", headings, rows
    for line in filter(None, (_longer(trials), _of_iperf3(trials), _steps(trials), _not_known(trials))):
        yield "line", line
    for line in attempts.lines(manifest.get("superseded") or []):
        yield "line", line
    for label, text in imported.facts(manifest):
        yield "line", f"{label}: {text}"


def _longer(trials: list[dict[str, Any]]) -> str:
    """Explains the time of a short-term average where transfers have a duration: the average ends later."""
    took = _took(trials, "rttcp")
    return took and (
        f"short-term average: from connect until the last byte is acknowledged, which took {took}; "
        "transfer.duration is when the sender stops giving data"
    )


def _of_iperf3(trials: list[dict[str, Any]]) -> str:
    """Explains the time of iperf3's average: its server stops reading when the duration is over."""
    took = _took(trials, "iperf3")
    return took and (
        f"iperf3's short-term average: what its server had read when the test ended, over {took}; "
        "what was under way then does not count"
    )


def _took(trials: list[dict[str, Any]], tool: str) -> str:
    """How long the tool's transfers with a duration took."""
    took = [
        trial["metrics"]["elapsed_ns"]
        for trial in trials
        if trial["params"].get("duration_ns")
        and trial["metrics"].get("elapsed_ns")
        and trial["params"].get("tool", "rttcp") == tool
        and not _exchanging(trial)
    ]
    return " to ".join(dict.fromkeys(readable.duration(ns) for ns in (min(took), max(took)))) if took else ""


def _steps(trials: list[dict[str, Any]]) -> str:
    exchanging = any(map(_exchanging, trials))
    return (
        "latency: the median and p99 may be up to 3.2 % less, the width of the steps in which rttcp counts"
        if (exchanging)
        else ""
    )


def _not_known(trials: list[dict[str, Any]]) -> str:
    """Requested settings for which no evidence shows whether they were in force."""
    rows = [(trial["trial"], row) for trial in trials for row in trial["asked"]]
    known = {(number, row["setting"]) for number, row in rows if row["ran"] is not None}
    names = dict.fromkeys(row["setting"] for number, row in rows if (number, row["setting"]) not in known)
    return f"asked for, but unknown whether it ran: {', '.join(names)}" if names else ""


def _exchanging(trial: dict[str, Any]) -> bool:
    return bool(trial["metrics"].get("exchanges_per_s"))


def _limited(metrics: dict[str, Any]) -> str:
    """What limited the sender most, by the analysis's verdict, and its share of the time; empty without captures. With
    request and response this is the sender of the messages that the verdict names; its application waits for the other
    messages."""
    cause, share = metrics.get("limits_cause"), metrics.get("limits_share")
    if cause is None:
        return ""
    of = f"{metrics['limits_direction']}: " if metrics.get("limits_direction") else ""
    return f"{of}{cause.replace('_', ' ')}" + ("" if share is None else f", {readable.share(share, 2)}")


def _shared(trial: dict[str, Any]) -> str:
    """A flow's share while all flows run, and the total of all flows; empty for a single flow."""
    metrics = trial["metrics"]
    if not (trial["params"].get("beside") or metrics.get("flows_common_ns")):
        return ""
    share = metrics.get("flow_share")
    if share is None:
        return together(metrics)
    error = metrics.get("flow_share_error") or 0.0
    doubt = f" ± {readable.share(error, 2)}" if error >= 0.0005 else ""
    return f"{readable.share(share, 3)}{doubt}; {together(metrics)}"


def _measured(trial: dict[str, Any], captured: bool, several: bool) -> tuple[str, ...]:
    metrics, verdict = trial["metrics"], trial["verdict"]
    share = metrics["stopped_share"]
    row = {**trial, **metrics, "valid": verdict["valid"], "reasons": "; ".join(verdict["reasons"])}
    row |= {"cause": verdicts.short(verdict), "flows_common_ns": None}  # the share has a column of its own
    limited = (_limited(metrics),) if captured else ()
    shared = (_shared(trial),) if several else ()
    return _round_trip(trial), "" if share is None else readable.number(share, 2), *limited, *shared, outcome(row)


def _round_trip(trial: dict[str, Any]) -> str:
    """The round-trip time that the sender's TCP measured. With gateways it covers only the path to the near gateway."""
    rtt_ns, params = trial["metrics"]["rtt_median_ns"], trial["params"]
    if rtt_ns is None:
        least_ns = trial["metrics"].get("rtt_min_ns")
        return f"{readable.duration(least_ns)} at least" if least_ns else ""
    to_gateway = params.get("gateway") not in (None, "none") and params.get("gateway_model") != "host"
    return readable.duration(rtt_ns) + (" to the near gateway" if to_gateway else "")
