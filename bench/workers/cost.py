"""cluster.cost: 1,000 trials of a second each on two workers with one thread each, compared with the minimum of 500 s.

A trial is a sleep of a second and a made-up folder of a usual trial's size, which travels as every trial's does. So the
time beyond 500 s is Dask's cost and ours: handing out, checks for the same tools, packing, gathering, the table of
results. The sleep leaves the processor to these, so the figure holds on a machine with few cores.
"""

from __future__ import annotations

import io
import os
import pickle
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.registry import Bench, Place, Result, Row
from bench.workers.daemons import scheduler, worker
from netcommon import extras
from scenarios.cluster import archive, sameness
from scenarios.plan import params
from scenarios.plan.plan import Trial, load_plan
from scenarios.run import runner, runs
from scenarios.run.machine import describe
from scenarios.trial.files import read_json, write_json

NAME = "cluster.cost"
TRIALS, WORKERS, TRIAL_S = 1000, 2, 1.0
MOST = 1.05
_SAMPLES_BYTES = 20_000
SCENARIO = """
[scenario]
name = "cost"
[path]
delay = "10ms"
rate = "20Mbit"
[transfer]
duration = "1s"
[run]
seed = 7
"""


def pretended(run: str, kind: str, wanted: dict[str, str], programs: list[str], job: bytes) -> dict[str, Any]:
    """A worker's task, which replaces `scenarios.cluster.task.run`."""
    assert run and not sameness.difference(wanted, sameness.here(programs, virtual=kind == "virtual"))
    time.sleep(TRIAL_S)
    one: Trial = pickle.loads(job)["trial"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _fill(folder, one)
        packed = archive.pack(folder)
    record = {"host": "bench", "machine": describe(), "error": None, "virtual_s": None, "wall_s": TRIAL_S}
    return {"archive": packed, "sha256": archive.digest(packed), "record": record}


def _fill(folder: Path, one: Trial) -> None:
    verdict = {"valid": True, "reasons": [], "causes": []}
    write_json(folder / "params.json", params.of(one))
    write_json(folder / "status.json", {"state": "done", "error": None, "verdict": verdict, "attempt": 1})
    summary = {"short_term_bps": 1e7, "peak_bps": 1e7, "elapsed_ns": 10**9, "connect_ns": 10**7, "retransmits": 0}
    write_json(folder / "transfer.json", {"summary": summary, "intervals": [summary] * 40})
    (folder / "samples").write_bytes(os.urandom(_SAMPLES_BYTES))


def measure(place: Place) -> Iterator[Result]:
    """One result. ``packets`` has no meaning here; ``seconds`` bounds the trials of each worker."""
    count = WORKERS * (place.seconds or TRIALS // WORKERS)
    extras.require("cluster", NAME)
    from scenarios.cluster.pool import Pool

    path = place.scratch / "cost.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    plan = load_plan(str(path), overrides=[f"run.repeat={count}"])
    run_dir = runner.start(plan, place.scratch / "runs")
    with ExitStack() as stack:
        address, scheduler_pid = stack.enter_context(scheduler(place.scratch))
        for number in range(WORKERS):
            stack.enter_context(worker(place.scratch, address, f"worker-{number}"))
        pool = stack.enter_context(Pool(address, pretended))
        began_s, own_s = time.monotonic(), time.process_time()
        runner.resume(run_dir, Console(file=io.StringIO()), elsewhere=pool)
        took_s, own_s = time.monotonic() - began_s, time.process_time() - own_s
        scheduler_s = _cpu_s(scheduler_pid)
    numbers = [int(folder.name) for folder in runs.trial_folders(run_dir)]
    whole = numbers == list(range(count)) and (read_json(run_dir / "manifest.json") or {})["state"] == "done"
    least_s = count * TRIAL_S / WORKERS
    rows = [
        Row("time, against the trials' own", "ratio", took_s / least_s, 1, MOST, f"{took_s:.1f} of {least_s:.0f} s"),
        Row("trials in the run, each once", "trials", len(numbers) if whole else 0, count, count),
        Row("CPU time of the scheduler", "ms a trial", 1000 * scheduler_s / count, 0, 50),
        Row("CPU time of the orchestrator", "ms a trial", 1000 * own_s / count, 0, 50),
    ]
    method = f"{count} trials, each a sleep of {TRIAL_S:.0f} s and a folder of 30 KB, on {WORKERS} workers here."
    yield Result(NAME, "within bounds", None, rows=rows, method=method)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


BENCH = Bench(NAME, "1,000 trials of a second on two Dask workers: the cluster's cost (9 minutes)", measure)
