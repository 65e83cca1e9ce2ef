"""Estimates the resources of a plan before it runs: wall time in its kind of time, memory and disk.

The wall time starts from the built-in prices (``plan.estimate`` in real time, ``virtual.cost`` in virtual time), which
earlier runs correct (``speed``). Memory and disk are upper bounds.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scenarios.plan import estimate
from scenarios.plan.model import Scenario
from scenarios.plan.plan import Plan, Trial
from scenarios.run import speed
from scenarios.run.speed import Speed
from scenarios.virtual import boxes, cost, memory

_TRIAL_BYTES = 64 * 2**10  # files of JSON and logs
_SAMPLE_BYTES = 160  # one sample of TCP_INFO, compressed
_RECORD_BYTES = 36  # pcapng's own, for each packet
_ROW_BYTES = 100  # bytes per packet in the tables of an analysis


@dataclass(frozen=True)
class OfTrial:
    """What one trial takes: wall time, and at most memory and disk."""

    wall_s: float
    memory_bytes: int
    disk_bytes: int


@dataclass(frozen=True)
class Forecast:
    """The resources that a plan takes. ``settings``: those of one trial of each setting, in the order of the first
    repeat. ``memory_bytes``: the most at one time. ``fits``: whether the machine has memory and disk for it."""

    settings: tuple[OfTrial, ...]
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
    speeds = speed.measured(runs_dir, virtual=virtual)
    repeat = plan.base.run.repeat
    settings = tuple(
        OfTrial(
            speeds.factor * (cost.wall_s(trial, box) if virtual else estimate.trial_s(trial.setting)),
            memory_bytes(trial, virtual=virtual, box=box),
            disk_bytes(trial.setting),
        )
        for trial in plan.trials[: len(plan.trials) // repeat]
    )
    seconds, largest = repeat * sum(one.wall_s for one in settings), max(one.memory_bytes for one in settings)
    free = memory.available_bytes()
    at_a_time = max(1, min(jobs or os.cpu_count() or 1, free // largest, len(plan.trials))) if virtual else 1
    return Forecast(
        settings,
        seconds / min(at_a_time, os.cpu_count() or 1),
        speeds,
        at_a_time,
        at_a_time * largest,
        free,
        repeat * sum(one.disk_bytes for one in settings),
        _disk_free(runs_dir),
    )


def memory_bytes(trial: Trial, *, virtual: bool, box: str) -> int:
    """The most memory that a trial uses: box, gateways and the data in flight; in virtual time the guest."""
    if virtual:
        return boxes.used_bytes(boxes.settled(trial, box), box)
    return memory.guest_bytes(trial.setting) - memory.BASE_BYTES


def disk_bytes(setting: Scenario) -> int:
    """The most disk space that a trial takes: samples, and each captured packet with its row in the tables."""
    samples = estimate.transfer_s(setting) * 1e9 / setting.transfer.sample if setting.transfer.sample else 0
    samples *= 1 + setting.transfer.both_ways
    packets = 1.5 * estimate.moved_bytes(setting) / setting.path.mtu  # data packets and acknowledgements
    of_packet = min(setting.capture.snap_bytes, setting.path.mtu) + _RECORD_BYTES + _ROW_BYTES
    return int(_TRIAL_BYTES + samples * _SAMPLE_BYTES + len(setting.capture.points) * packets * of_packet)


def _disk_free(folder: Path) -> int:
    """The free space of the disk that would hold ``folder``."""
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(existing).free


def as_json(found: Forecast) -> dict[str, Any]:
    """The figures of a forecast for programs to read, without those of single trials."""
    return {
        "seconds": found.seconds,
        "factor": found.speed.factor,
        "factor_trials": found.speed.trials,
        "jobs": found.jobs,
        "memory_bytes": found.memory_bytes,
        "memory_free_bytes": found.memory_free_bytes,
        "disk_bytes": found.disk_bytes,
        "disk_free_bytes": found.disk_free_bytes,
        "fits": found.fits,
    }
