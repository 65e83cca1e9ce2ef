"""cluster.same: one sweep in virtual time on this machine, on two workers, and on two workers of which one is killed
midway. The three tables are equal to the bit, and no trial is missing or there twice.
"""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.registry import Bench, Place, Result, Row
from bench.workers.daemons import scheduler, worker
from netcommon import extras
from scenarios.plan.plan import Plan, load_plan
from scenarios.run import results, runner, runs
from scenarios.virtual import kernel

NAME = "cluster.same"
REPEATS, MIDWAY = 3, 0.4
_LOOK_S = 0.05
SCENARIO = """
[scenario]
name = "same"
[path]
delay = "10ms"
rate = "20Mbit"
loss = "0.1%"
[transfer]
duration = "300ms"
[sweep]
"transfer.congestion" = ["reno", "cubic", "bbr"]
[run]
seed = 7
"""


def measure(place: Place) -> Iterator[Result]:
    """One result; none without the kernel for virtual time, and a line says so."""
    if why := kernel.missing():
        place.say(f"{NAME}: left out: {why}")
        return
    path = place.scratch / "same.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    plan = load_plan(str(path), overrides=[f"run.repeat={place.pairs or REPEATS}"])
    alone = runner.start(plan, place.scratch / "alone", virtual_box="auto")
    runner.resume(alone, Console(file=io.StringIO()), jobs=2)
    both, lost = _on_workers(plan, place, kill=False), _on_workers(plan, place, kill=True)
    count = len(plan.trials)
    rows = [
        row
        for name, run_dir in (("two workers", both), ("two workers, one killed midway", lost))
        for row in (
            Row(f"{name}: rows equal to the bit", "rows", count - len(results.differing(alone, run_dir)), count, count),
            Row(f"{name}: trials, each once", "trials", len(runs.trial_folders(run_dir)), count, count),
            Row(f"{name}: superseded attempts", "attempts", len(list(run_dir.glob("superseded/*"))), 0, 0),
        )
    ]
    method = f"{count} trials in virtual time with one seed, against the table of a run without a cluster."
    yield Result(NAME, "within bounds", None, rows=rows, method=method)


def _on_workers(plan: Plan, place: Place, *, kill: bool) -> Path:
    extras.require("cluster", NAME)
    from scenarios.cluster.pool import Pool

    folder = place.scratch / f"workers-{kill}"
    folder.mkdir()
    run_dir = runner.start(plan, folder, virtual_box="auto")
    with ExitStack() as stack:
        address, _ = stack.enter_context(scheduler(folder))
        first = stack.enter_context(worker(folder, address, "worker-0"))
        stack.enter_context(worker(folder, address, "worker-1"))
        pool = stack.enter_context(Pool(address))
        if kill:
            midway = round(MIDWAY * len(plan.trials))
            killer = threading.Thread(target=_kill_midway, args=(first, run_dir, midway), daemon=True)
            killer.start()
        runner.resume(run_dir, Console(file=io.StringIO()), elsewhere=pool)
        if kill and first.poll() is None:
            place.say(f"{NAME}: the run ended before its worker was killed")
    return run_dir


def _kill_midway(process: Any, run_dir: Path, done: int) -> None:
    """Kills the worker when this many trials are done; it then always has a trial in progress."""
    while process.poll() is None:
        if len(list(run_dir.glob("trials/[0-9]*"))) >= done:
            process.kill()
            return
        time.sleep(_LOOK_S)


BENCH = Bench(NAME, "one sweep here, on two Dask workers, and with one of them killed: equal tables", measure)
