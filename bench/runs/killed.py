"""run.killed: `lfp run` is killed by SIGKILL at random moments; `lfp clean` and `lfp run --resume` follow each time.

After each `lfp clean` nothing of the run may be left but its directory: no process, no record, no folder, no interface.
In the end every trial of the plan is there once, with its settings and its seed. In virtual time the table is also
equal, to the bit, to that of a run that nobody killed.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet

from bench.registry import Bench, Place, Result, Row
from bench.runs.marked import Lfp, strays, until
from scenarios.plan import params
from scenarios.plan.plan import Plan, load_plan
from scenarios.run import runs
from scenarios.trial.files import read_json
from scenarios.virtual import kernel

NAME = "run.killed"
MOMENTS, SEED = 20, 1995
LONGEST = 0.6  # longest time until the kill, as a share of an undisturbed run: two or three kills a run
CLEAN_S, WHOLE_S = 60.0, 600.0
SCENARIO = """
[scenario]
name = "killed"
[path]
delay = "5ms"
rate = "20Mbit"
queue = "200KB"
loss = "0.1%"
[transfer]
duration = "300ms"
[capture]
points = ["snd", "rcv"]
[case.plain.gateway]
kind = "none"
[case.tunnel.gateway]
kind = "lft"
rate = "10Mbit"
[sweep]
"scenario.case" = ["plain", "tunnel"]
[run]
repeat = 5
seed = 1
"""


@dataclass
class Account:
    """Observations. ``left``: what `lfp clean` left behind, a phrase each."""

    moments: int = 0
    runs: int = 0
    left: int = 0
    wrong_trials: int = 0
    note: str = ""


def measure(place: Place) -> Iterator[Result]:
    """One result for both kinds of time. Virtual time is left out where its kernel is not built, and a line says so."""
    path = place.scratch / "killed.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    times = ["real", *([] if kernel.missing() else ["virtual"])]
    if why := kernel.missing():
        place.say(f"{NAME}: virtual time left out: {why}")
    rows: list[Row] = []
    for clock in times:
        found = _killed(place, path, clock, place.pairs or MOMENTS)
        rows += [
            Row(f"{clock} time: moments", "kills", found.moments, place.pairs or MOMENTS, 10**6, f"{found.runs} runs"),
            Row(f"{clock} time: left by lfp clean", "things", found.left, 0, 0, found.note),
            Row(f"{clock} time: trials unlike the plan", "trials", found.wrong_trials, 0, 0),
        ]
    method = (
        f"`lfp run` of ten trials is killed by SIGKILL at moments drawn with seed {SEED}, up to {LONGEST:.0%} of an "
        "undisturbed run's time after its start; `lfp clean` and then `lfp run --resume` follow, which is killed in "
        "its turn. A run that is complete is followed by another one."
    )
    yield Result(NAME, "within bounds", None, rows=rows, method=method)


def _killed(place: Place, path: Path, clock: str, moments: int) -> Account:
    rng, found = random.Random(f"{SEED} {clock}"), Account()
    plan = load_plan(str(path))
    undisturbed, takes_s = _undisturbed(place, path, clock)
    while found.moments < moments:
        found.runs += 1
        folder = place.scratch / f"{clock}-{found.runs}"
        while found.moments < moments and not _complete(folder, plan):
            _once(found, rng.uniform(0, LONGEST * takes_s), path, folder, clock)
            place.say(
                f"{NAME}: {clock}: {found.moments} moments, {_done(folder)} of {len(plan.trials)} trials, "
                f"left {found.left}"
            )
        Lfp(*_command(path, folder, clock)).finish(WHOLE_S)
        found.wrong_trials += _wrong(folder, plan, undisturbed)
        shutil.rmtree(folder)
    return found


def _once(found: Account, after_s: float, path: Path, folder: Path, clock: str) -> None:
    """Starts or resumes, kills, cleans, and looks for what is left."""
    before = strays()
    lfp = Lfp(*_command(path, folder, clock))
    time.sleep(after_s)
    if not lfp.kill():
        return  # the run had ended by itself
    found.moments += 1
    Lfp("clean").finish(CLEAN_S)
    until(lambda: not lfp.left(), CLEAN_S / 2)  # tools need a moment to exit cleanly
    until(lambda: not strays() - before, CLEAN_S / 6)  # what other runs on this machine create disappears soon
    left = [*lfp.left(), *lfp.records(), *(strays() - before), *map(str, folder.glob("*/trials/.*"))]
    found.left += len(left)
    found.note = found.note or "; ".join(left)


def _command(path: Path, folder: Path, clock: str) -> list[str]:
    """Starts a new run, or resumes the one in ``folder``."""
    where = ["--runs-dir", str(folder)]
    begun = list(folder.glob("*/manifest.json"))
    jobs = ["--jobs", "2"] if clock == "virtual" else []
    if begun:
        return ["run", "--resume", str(begun[0].parent), *where, *jobs]
    return ["run", str(path), "--time", clock, *where, *jobs]


def _done(folder: Path) -> int:
    return len(list(folder.glob("*/trials/[0-9]*")))


def _complete(folder: Path, plan: Plan) -> bool:
    return _done(folder) == len(plan.trials)


def _undisturbed(place: Place, path: Path, clock: str) -> tuple[list[dict[str, Any]] | None, float]:
    """The table of a run that nobody kills, in virtual time alone, where it is the same each time; and how long the run
    takes."""
    folder, begun = place.scratch / f"undisturbed-{clock}", time.monotonic()
    Lfp(*_command(path, folder, clock)).finish(WHOLE_S)
    return _table(folder) if clock == "virtual" else None, time.monotonic() - begun


def _table(folder: Path) -> list[dict[str, Any]]:
    (found,) = folder.glob("*/results.parquet")
    rows: list[dict[str, Any]] = parquet.read_table(found).to_pylist()
    return rows


def _wrong(folder: Path, plan: Plan, undisturbed: list[dict[str, Any]] | None) -> int:
    """How many trials are missing, doubled, not as planned, or different from those of the run that nobody killed."""
    rows, (run_dir,) = _table(folder), [file.parent for file in folder.glob("*/manifest.json")]
    asked = [read_json(one / "params.json") for one in runs.trial_folders(run_dir)]
    wanted = [params.of(trial) for trial in plan.trials]
    if len(asked) != len(wanted) or len(rows) != len(wanted):
        return abs(len(asked) - len(wanted)) + abs(len(rows) - len(wanted))
    same = [_same(one, other) for one, other in zip(asked, wanted, strict=True)]
    equal = [row == other for row, other in zip(rows, undisturbed, strict=True)] if undisturbed else []
    return same.count(False) + equal.count(False)


def _same(asked: dict[str, Any] | None, wanted: dict[str, Any]) -> bool:
    """Whether number, seed and settings of a trial are as planned, apart from settings that real and virtual time
    choose by themselves."""
    own = {"poll_ns", "spin_ns", "granularity_ns", "memory_bytes", "zerocopy", "length_bytes"}
    return asked is not None and all(asked.get(name) == value for name, value in wanted.items() if name not in own)


BENCH = Bench(NAME, "lfp run killed at 20 random moments: what lfp clean leaves, what --resume makes of it", measure)
