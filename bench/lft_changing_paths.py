"""lft.changing_paths: goodput of LFT with automatic rate, relative to plain BBR on the same path, over random paths.

A path has a delay, a rate, a queue and a loss, and one to three of them change during the transfer, or the path is down
for a while. Paths are drawn from a seed, so the bench can be repeated. Each runs twice in virtual time: with the
gateways, whose hosts use CUBIC, and with BBR from host to host.
"""

from __future__ import annotations

import os
import random
import statistics
from collections.abc import Iterator
from typing import Any

from rich.console import Console

from bench.registry import Bench, Place, Result, Row
from netcommon.errors import LfpError
from scenarios.plan.document import Document
from scenarios.plan.plan import make_plan
from scenarios.run import results, runner
from scenarios.trial import trial

SEED, PATHS, SECONDS = 1, 200, 15
LEAST = 0.8  # of plain BBR's goodput
DELAYS = ("2ms", "5ms", "10ms", "25ms", "50ms", "100ms")
RATES = ("5Mbit", "10Mbit", "20Mbit", "40Mbit")
QUEUES = ("0.5 BDP", "1 BDP", "2 BDP", "4 BDP")
LOSSES = ("0%", "0%", "0.1%", "1%", "2%")
OUTAGES_S = (0.1, 0.5, 1.5)
PATH: dict[str, tuple[str, ...]] = {"delay": DELAYS, "rate": RATES, "queue": QUEUES, "loss": LOSSES}
CHANGES = ("delay", "rate", "loss", "outage")
WAYS: dict[str, dict[str, dict[str, str]]] = {
    "lft": {"gateway": {"kind": "lft", "rate": "100Mbit", "rate_mode": "auto"}, "transfer": {"congestion": "cubic"}},
    "bbr": {"transfer": {"congestion": "bbr"}},
}


def draw(rng: random.Random, seconds: int) -> dict[str, str]:
    """The keys of [path] of a random path."""
    path = {key: rng.choice(values) for key, values in PATH.items()}
    loss, at_s, changes = path["loss"], 0.0, []
    for _ in range(rng.choice((1, 2, 3))):
        at_s += rng.uniform(seconds / 6, seconds / 3)
        what = rng.choice(CHANGES)
        if what == "outage":
            changes.append(f"{at_s:.2f}s loss=100%")
            at_s += rng.choice(OUTAGES_S)
            changes.append(f"{at_s:.2f}s loss={loss}")
        else:
            value = rng.choice(PATH[what])
            loss = value if what == "loss" else loss
            changes.append(f"{at_s:.2f}s {what}={value}")
    return path | {"change": "; ".join(changes)}


def scenario(paths: list[dict[str, str]], seconds: int) -> dict[str, Any]:
    """A case for each path and each way to cross it, named by the number of the path and the way."""
    cases = {f"{i}-{way}": {"path": path} | tables for i, path in enumerate(paths) for way, tables in WAYS.items()}
    return {
        "scenario": {"name": "lft-changing-paths"},
        "transfer": {"duration": f"{seconds}s", "length": "64KB"},
        "case": cases,
        "sweep": {"scenario.case": list(cases)},
        "run": {"repeat": 1, "order": "listed"},
    }


def measure(place: Place) -> Iterator[Result]:
    """One result. ``pairs``: the number of paths."""
    seconds, rng = place.seconds or SECONDS, random.Random(SEED)
    paths = [draw(rng, seconds) for _ in range(place.pairs or PATHS)]
    plan = make_plan(Document("lft-changing-paths", scenario(paths, seconds)), SEED)
    place.say(f"lft.changing_paths: {len(plan.trials)} trials in virtual time")
    run_dir = runner.start(plan, place.scratch / "runs", virtual_box="auto")
    runner.resume(run_dir, Console(quiet=True), jobs=os.cpu_count() or 1)
    rows = [results.row(trial.folder_of(run_dir, one.number)) for one in plan.trials]
    bps = {str(row["case"]): float(row["short_term_bps"] or 0) for row in rows}
    if missing := [case for case, rate in bps.items() if not rate]:
        raise LfpError(f"lft.changing_paths: no rate in the trials {', '.join(missing)}; see {run_dir}")
    ratios = [bps[f"{i}-lft"] / bps[f"{i}-bbr"] for i in range(len(paths))]
    for i in sorted(range(len(paths)), key=ratios.__getitem__)[:5]:
        place.say(f"{ratios[i]:.3f} of BBR's rate on {paths[i]}")
    note = f"least {min(ratios):.3f}, median {statistics.median(ratios):.3f}"
    good = sum(ratio >= LEAST for ratio in ratios)
    table = [Row(f"paths with at least {LEAST} of BBR's goodput", "paths", good, len(paths), len(paths), note)]
    method = (
        f"{len(paths)} random paths of {seconds} s that change, drawn with seed {SEED}, each with LFT and with BBR."
    )
    extra = {"ratios": ratios, "paths": paths}
    yield Result("lft.changing_paths", "within bounds", None, rows=table, method=method, extra=extra)


BENCH = Bench(
    "lft.changing_paths",
    "LFT's automatic rate on random changing paths, relative to BBR; needs 'make virtual'",
    measure,
)
