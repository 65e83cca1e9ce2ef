"""What a plan will take before it runs: wall time in its kind of time, memory and disk.

The wall time starts from the built-in prices (``plan.estimate`` in real time, ``virtual.cost`` in virtual time).
Earlier runs in the same kind of time say by which factor this machine differs from them. The factor is a median over
trials, so a run that was stopped for a night does not count for more than one trial. Memory and disk are upper bounds.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from netcommon.errors import LfpError
from scenarios.plan import estimate
from scenarios.plan.model import Scenario
from scenarios.plan.plan import Plan, Trial
from scenarios.run import manifest, runs
from scenarios.trial.files import read_json
from scenarios.virtual import boxes, cost, memory

_RUNS_LOOKED_AT = 5  # the newest; older ones may be of another machine
_TRIAL_BYTES = 64 * 2**10  # files of JSON and logs
_SAMPLE_BYTES = 160  # of TCP_INFO, compressed
_RECORD_BYTES = 36  # pcapng's own, for each packet
_ROW_BYTES = 100  # of each packet in the tables of an analysis


@dataclass(frozen=True)
class Speed:
    """How earlier trials took against the built-in prices. ``factor``: 1 without earlier trials."""

    factor: float = 1.0
    trials: int = 0
    runs: int = 0

    def __str__(self) -> str:
        if not self.trials:
            return "by built-in prices; no earlier run in this kind of time"
        runs = "1 earlier run" if self.runs == 1 else f"{self.runs} earlier runs"
        return f"by {self.trials} trials of {runs}: the median took {self.factor:.2g} times the built-in price"


def measured_speed(runs_dir: Path, *, virtual: bool) -> Speed:
    """From the newest runs in ``runs_dir`` of this kind of time that today's programs can read."""
    newest = sorted(runs_dir.glob("*/manifest.json"), key=lambda file: file.parent.name[-22:], reverse=True)
    ratios: list[list[float]] = []
    for file in newest:
        if len(ratios) < _RUNS_LOOKED_AT and (found := _ratios(file.parent, virtual)):
            ratios.append(found)
    every = [ratio for run in ratios for ratio in run]
    return Speed(median(every), len(every), len(ratios)) if every else Speed()


def expectation(*, virtual: bool, box: str) -> Callable[[Trial], float]:
    """The wall time of a trial by the built-in prices, seconds. In virtual time it has a processor to itself."""
    return (lambda trial: cost.wall_s(trial, box)) if virtual else (lambda trial: estimate.trial_s(trial.setting))


def _ratios(run_dir: Path, virtual: bool) -> list[float]:
    """Taken against expected wall time of each trial of a run that is done."""
    content = runs.manifest(run_dir)
    if content.get("state") != "done" or bool(content.get("virtual")) != virtual:
        return []
    try:
        trials = {trial.number: trial for trial in manifest.replan(content).trials}
    except LfpError:  # another version's scenario
        return []
    expected_s = expectation(virtual=virtual, box=(content.get("virtual") or {}).get("box", "auto"))
    return [taken_s / expected_s(trials[number]) for number, taken_s in _taken(run_dir, virtual) if number in trials]


def _taken(run_dir: Path, virtual: bool) -> Iterator[tuple[int, float]]:
    """Number and wall time of each trial. In real time it reaches to the next trial's start, set-up included."""
    done = [(read_json(folder / "status.json"), int(folder.name)) for folder in runs.trial_folders(run_dir)]
    done.sort(key=lambda one: int(one[0]["started_realtime_ns"]))
    for place, (status, number) in enumerate(done):
        later = done[place + 1][0] if not virtual and place + 1 < len(done) else None
        ended_ns = later["started_realtime_ns"] if later else status["ended_realtime_ns"]
        yield number, (ended_ns - status["started_realtime_ns"]) / 1e9


@dataclass(frozen=True)
class Forecast:
    """What a plan takes. ``trial_s``: wall time of each trial by number. ``memory_bytes``: the most at one time.
    ``fits``: whether the machine has memory and disk for it."""

    trial_s: tuple[float, ...]
    seconds: float
    speed: Speed
    jobs: int
    memory_bytes: int
    memory_free_bytes: int
    disk_bytes: int
    disk_free_bytes: int

    @property
    def fits(self) -> bool:
        return self.memory_bytes <= self.memory_free_bytes and self.disk_bytes <= self.disk_free_bytes


def forecast(plan: Plan, runs_dir: Path, *, virtual: bool, box: str = "auto", jobs: int | None = None) -> Forecast:
    """What ``plan`` takes in the given kind of time. ``jobs``: trials at a time, in virtual time only; None: one for
    each processor, if memory allows."""
    speed, expected_s = measured_speed(runs_dir, virtual=virtual), expectation(virtual=virtual, box=box)
    trial_s = tuple(speed.factor * expected_s(trial) for trial in plan.trials)
    largest = max(memory_bytes(trial, virtual=virtual, box=box) for trial in plan.trials)
    free = memory.available_bytes()
    at_a_time = max(1, min(jobs or os.cpu_count() or 1, free // largest, len(plan.trials))) if virtual else 1
    return Forecast(
        trial_s, sum(trial_s) / min(at_a_time, os.cpu_count() or 1), speed, at_a_time, at_a_time * largest, free,
        sum(disk_bytes(trial.setting) for trial in plan.trials), _disk_free(runs_dir),
    )  # fmt: skip


def memory_bytes(trial: Trial, *, virtual: bool, box: str = "auto") -> int:
    """The most memory that a trial uses: box, gateways and the data in flight; in virtual time the whole guest."""
    setting = boxes.settled(trial, box).setting if virtual else trial.setting
    return memory.guest_bytes(setting) - (0 if virtual else memory.BASE_BYTES)


def disk_bytes(setting: Scenario) -> int:
    """The most that a trial leaves: samples, and each captured packet with its row in the tables."""
    samples = estimate.transfer_s(setting) * 1e9 / setting.transfer.sample if setting.transfer.sample else 0
    packets = 1.5 * estimate.moved_bytes(setting) / setting.path.mtu  # with acknowledgements
    of_packet = min(setting.capture.snap, setting.path.mtu) + _RECORD_BYTES + _ROW_BYTES
    return int(_TRIAL_BYTES + samples * _SAMPLE_BYTES + len(setting.capture.points) * packets * of_packet)


def _disk_free(folder: Path) -> int:
    """The free room of the disk that would hold ``folder``."""
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(existing).free


def as_json(found: Forecast) -> dict[str, Any]:
    """The figures of a forecast for machines, but for those of the trials."""
    return {
        "seconds": found.seconds, "factor": found.speed.factor, "factor_trials": found.speed.trials, "jobs": found.jobs,
        "memory_bytes": found.memory_bytes, "memory_free_bytes": found.memory_free_bytes,
        "disk_bytes": found.disk_bytes, "disk_free_bytes": found.disk_free_bytes, "fits": found.fits,
    }  # fmt: skip
