"""run.overhead: the overhead of a trial in real time: set-up, clean-up, analysis, results.

The figure of a trial is (time from the end of the previous trial to its own end) − (time of its transfer). So it
contains everything that happens between two transfers. A run mixes kinds of trials, as a comparison does.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.registry import Bench, Place, Result, Row
from scenarios.plan.plan import load_plan
from scenarios.run import runner, runs
from scenarios.trial.files import read_json

NAME = "run.overhead"
REPEATS = 6
MOST_S = 1.0
SCENARIO = """
[scenario]
name = "overhead"
[path]
delay = "5ms"
rate = "50Mbit"
queue = "1 BDP"
[transfer]
duration = "1s"
[case.plain.gateway]
kind = "none"
[case.captured.capture]
points = ["snd", "rcv"]
[case.lft.gateway]
kind = "lft"
rate = "1 line"
[case.command.gateway]
kind = "command"
model = "proxy"
settle = "0s"
near = "sh -c 'for p in $ports; do socat tcp-l:$$p,bind=$listen,reuseaddr,fork tcp:$far:$$p & done; wait'"
far = "sh -c 'for p in $ports; do socat tcp-l:$$p,reuseaddr,fork tcp:$receiver:$$p & done; wait'"
[sweep]
"scenario.case" = ["plain", "captured", "lft", "command"]
[run]
seed = 1
"""


def measure(place: Place) -> Iterator[Result]:
    """Medians, for each kind of trial and for all. ``pairs``: repeats."""
    path = place.scratch / "overhead.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    plan = load_plan(str(path), overrides=[f"run.repeat={place.pairs or REPEATS}"])
    run_dir = runner.start(plan, place.scratch / "runs")
    runner.resume(run_dir, Console(stderr=True))
    took = beside_transfer(run_dir)
    kinds = sorted({case for case, _ in took})
    rows = [
        Row(f"{case} trials", "s", statistics.median(seconds for of, seconds in took if of == case), 0, 60)
        for case in kinds
    ]
    rows.append(Row("all trials", "s", statistics.median(seconds for _, seconds in took), 0, MOST_S))
    method = f"{len(took)} trials of a second each in random order: median time of a trial in addition to its transfer."
    yield Result(NAME, "within bounds", None, rows=rows, method=method)


def beside_transfer(run_dir: Path) -> list[tuple[str, float]]:
    """Case and overhead in seconds of each trial of a run, except the first."""
    found: list[tuple[int, str, int]] = []
    for folder in runs.trial_folders(run_dir):
        status: dict[str, Any] = read_json(folder / "status.json") or {}
        transfer = (read_json(folder / "transfer.json") or {}).get("summary") or {}
        case = (read_json(folder / "params.json") or {}).get("case")
        found.append((status["ended_realtime_ns"], str(case or "all"), transfer.get("elapsed_ns") or 0))
    found.sort()
    pairs = itertools.pairwise(found)
    return [(case, (ended - before - elapsed) / 1e9) for (before, _, _), (ended, case, elapsed) in pairs]


BENCH = Bench(NAME, "overhead of a trial in real time: its time without the transfer", measure)
