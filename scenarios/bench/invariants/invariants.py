"""`virtual.invariants`: what holds in any trial, checked on settings drawn at random, in virtual time.

A trial that is called valid and breaks one of the checks is a wrong number that somebody would have believed.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from scenarios.bench.invariants.checks import CHECKS, Trial
from scenarios.bench.invariants.draws import scenario
from scenarios.bench.registry import Bench, Place, Result, Row
from scenarios.plan.document import Document
from scenarios.plan.plan import make_plan
from scenarios.run import results, runner
from scenarios.trial import trial

DRAWS, SEED = 300, 1


def measure(place: Place) -> Iterator[Result]:
    """Runs the draws and checks them. ``pairs``: how many draws."""
    draws = place.pairs or DRAWS
    place.say(f"virtual.invariants: {draws} settings at random, seed {SEED}")
    broken, valid = check(place.scratch / "runs", draws, SEED)
    for name, found in broken.items():
        for text in found:
            place.say(f"virtual.invariants: {name}: {text}")
    rows = [Row(name, "trials", len(found), 0, 0) for name, found in broken.items()]
    rows.append(Row("valid trials", "trials", valid, draws / 2, draws))
    method = f"{draws} settings drawn with seed {SEED}, one trial each, virtual time"
    yield Result("virtual.invariants", "within bounds", None, rows=rows, method=method)


def check(runs_dir: Path, draws: int, seed: int) -> tuple[dict[str, list[str]], int]:
    """Runs the draws of a seed. Gives, for each check, a line for every valid trial that breaks it; and how many trials
    were valid."""
    plan = make_plan(Document("invariants", scenario(draws, seed)), seed)
    run_dir = runner.start(plan, runs_dir, virtual_box="comet")
    runner.resume(run_dir, Console(quiet=True), jobs=os.cpu_count() or 1)
    broken: dict[str, list[str]] = defaultdict(list, {name: [] for name in CHECKS})
    valid = 0
    for one in plan.trials:
        folder = trial.folder_of(run_dir, one.number)
        rows = results.rows(folder)
        if not rows[0]["valid"]:
            continue
        valid += 1
        read = Trial.of(folder, rows)
        for name, run in CHECKS.items():
            if found := "; ".join(run(read)):
                broken[name].append(f"{rows[0]['case']} ({folder}): {found}")
    return dict(broken), valid


BENCH = Bench("virtual.invariants", "what holds in any trial, on 300 settings drawn at random", measure)
