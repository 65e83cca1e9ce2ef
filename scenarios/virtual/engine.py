"""Trials in virtual time. Each runs in a guest kernel of its own, and several run side by side, because they cannot
disturb each other.

A guest writes its trial's folder into a working folder next to the complete ones (`trials/.NNNN.guest`); it can write
to no other place on the host. This module then makes the tables from samples and captures and gives the folder its
name. A guest that fails in any way is a failed trial, and its console is kept.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from multiprocessing import connection
from pathlib import Path
from typing import Any

from netcommon import readable, run_format
from netcommon.errors import EXIT_FAILED, LfpError, UsageError
from netcommon.ledger import Ledger
from scenarios.plan import params
from scenarios.plan.plan import Plan, Trial
from scenarios.trial import attempts, programs, trial, verdicts
from scenarios.trial.ended import Ended
from scenarios.trial.files import read_json, write_json
from scenarios.virtual import boxes, cost, kernel, memory, randomness, waits
from scenarios.virtual.digests import Digests, Status
from scenarios.virtual.guest import CLOCK_START_NS, Guest
from scenarios.virtual.under_way import Look, UnderWay

_LOOK_S = 0.1  # time between two checks of a guest's clock, which may hang
_TELL_S = 0.5  # time between two progress reports
# A trial starts only with the first amount of free disk space. A failure with less than the second is attributed to the
# full disk.
_LEAST_DISK_BYTES, _ROOM_BYTES = 64 * 2**20, 16 * 2**20

# Differences that two runs with one seed may have, for the manifest's verdict.
DIFFERS = (
    "times of the host in status.json (started, ended) and the guest's console",
    "the largest memory of rttcp (maxrss_bytes in transfer.json)",
)


@dataclass
class Running:
    """A trial under way. ``settled``: the trial with the settings that its guest uses. ``guest_s``: how long its guest
    ran; ``status``: the future of its status, which exists once the guest is off and is done when the tables are made;
    ``programs``: hashes of its gateways' programs when it began."""

    trial: Trial
    settled: Trial
    guest: Guest
    stack: ExitStack
    began_s: float
    began_ns: int
    under_way: UnderWay
    guest_s: float = 0.0
    status: Future[Status] | None = None
    programs: dict[str, str] = field(default_factory=dict)

    def look(self) -> Look:
        """How far it is."""
        return self.under_way.look(time.monotonic() - self.began_s, self.guest.virtual_s())


def manifest(plan: Plan, box: str) -> dict[str, Any]:
    """What a run's manifest says about virtual time. MissingError without a kernel; UsageError if `box` cannot do what
    the plan asks for."""
    image = kernel.require()
    if any(one.setting.topology.kind == "existing" for one in plan.trials):
        raise UsageError('topology.kind = "existing": hosts that exist live in real time; use --time real')
    settled = [boxes.settled(one, box) for one in plan.trials]
    return {
        "kernel": kernel.version(image),
        "virtual": {
            "box": box,
            "back_ends": sorted({boxes.choose(one, box) for one in plan.trials}),
            "clock_start_ns": CLOCK_START_NS,
            "granularity_ns": sorted({one.setting.path.granularity or 0 for one in settled}),
            "decides": sorted({boxes.decides(one, box) for one in plan.trials}),
            "notes": sorted({boxes.note(one, box) for one in settled}),
            "kernel_sha256": hashlib.sha256(image.read_bytes()).hexdigest(),
            "differs": list(DIFFERS),
        },
    }


def run_all(
    run_dir: Path,
    todo: list[Trial],
    ledger: Ledger,
    jobs: int,
    box: str,
    ended: Callable[[Ended], None],
    tell: Callable[[list[Look]], None] = lambda _: None,
    factor: float = 1.0,
    alone: bool = True,
    with_waits: bool = False,
) -> None:
    """Runs the trials in order, `jobs` at a time, and calls `ended` for each that has ended, and `tell` twice a second
    with the progress of the others. ``factor``: this machine's times as a multiple of the built-in prices. ``alone``:
    the caller knows of no other runs on this machine. ``with_waits``: each trial keeps what its TCP senders waited for
    (`waits`). LfpError ends the run."""
    image = kernel.require()
    largest = max((boxes.used_bytes(boxes.settled(one, box), box) for one in todo), default=memory.BASE_BYTES)
    jobs = memory.jobs_that_fit(largest, jobs)
    waiting, running, told_s = list(todo), list[Running](), time.monotonic()
    alone = alone and min(jobs, len(todo)) == 1

    def start(one: Trial, everything: ExitStack) -> Running:
        return _start(image, one, run_dir, ledger, box, factor, everything, alone=alone, with_waits=with_waits)

    with ExitStack() as everything, Digests(ledger, jobs) as digests:
        while waiting or running:
            while waiting and len(running) < jobs:
                _check_disk(run_dir)
                running.append(start(waiting.pop(0), everything))
            for one in [one for one in running if not one.status and _is_over(one)]:
                one.guest_s = time.monotonic() - one.began_s
                one.status = digests.begin(functools.partial(_digested, one, ledger, digests))
            for one in [one for one in running if one.status and one.status.done()]:
                running.remove(one)
                with _full_disk_said(run_dir):
                    ended(_collect(one, run_dir))
            if running and time.monotonic() - told_s >= _TELL_S:
                told_s = time.monotonic()
                tell([one.look() for one in running])
            _wait(running, digests)


def _wait(running: list[Running], digests: Digests) -> None:
    """Waits until a guest is off or a trial has its tables, or until it is time for the next check."""
    on = [one.guest.end_fd for one in running if not one.status]
    if digests.done_fd in connection.wait([*on, digests.done_fd], _LOOK_S):
        os.eventfd_read(digests.done_fd)


def _start(
    image: Path,
    planned: Trial,
    run_dir: Path,
    ledger: Ledger,
    box: str,
    factor: float,
    everything: ExitStack,
    *,
    alone: bool,
    with_waits: bool,
) -> Running:
    stack = everything.enter_context(ExitStack())
    with _full_disk_said(run_dir):
        share = stack.enter_context(_working_folder(run_dir, planned.number, ledger))
        setting = boxes.settled(planned, box)
        back_end = boxes.choose(planned, box)
        job: dict[str, Any] = {"trial": setting, "box": back_end}
        job["super_bytes"] = boxes.super_packets(setting) if back_end == "netem" else (0, 0)
        seed = randomness.guest_seed(planned)
        written = share / waits.FILE if with_waits else None
        guest = Guest(image, share, memory.guest_bytes(planned.setting), seed, job, alone=alone, waits=written)
        ledger.add_directory(guest.folder)
        stack.callback(ledger.drop_directory, guest.folder)
        stack.enter_context(guest)
    ledger.add_process(guest.pid, f"guest of trial {planned.number}")
    stack.callback(ledger.drop_process, guest.pid)
    under_way = UnderWay(planned, factor * cost.wall_s(planned, box))
    ran = programs.hashes(planned.setting)
    return Running(planned, setting, guest, stack, time.monotonic(), time.time_ns(), under_way, programs=ran)


@contextmanager
def _working_folder(run_dir: Path, number: int, ledger: Ledger) -> Iterator[Path]:
    folder = run_dir / "trials" / f".{number:04d}.guest"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "trials").mkdir(parents=True)
    ledger.add_directory(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        ledger.drop_directory(folder)


def _is_over(running: Running) -> bool:
    try:
        return running.guest.ended()
    except LfpError as hang:
        running.guest.__exit__()
        write_json(running.guest.share / "error.json", {"message": str(hang), "status": EXIT_FAILED})
        return True


def _collect(running: Running, run_dir: Path) -> Ended:
    """Moves the trial's folder into the run. An error of status 2 or 3 is raised, because it would hit every trial."""
    assert running.status
    number, folder = running.trial.number, _folder(running)
    final = run_dir / "trials" / f"{number:04d}"
    virtual_s = running.guest.virtual_s()
    try:
        status = running.status.result()
        status |= {"started_realtime_ns": running.began_ns, "ended_realtime_ns": time.time_ns()}
        status |= {"virtual_ns": int(virtual_s * 1e9), "computed": running.guest.computed()}
        status |= {"attempt": attempts.next_attempt(final)}
        status |= {"programs": programs.after(running.programs, running.trial.setting)}
        write_json(folder / "status.json", status)
        (folder / "log").mkdir(exist_ok=True)
        shutil.copyfile(running.guest.console, folder / "log" / "console.txt")
        if (written := running.guest.share / waits.FILE).exists():
            written.rename(folder / waits.FILE)
        attempts.supersede(final)
        folder.rename(final)
    finally:
        running.stack.close()
    return Ended(running.trial, status, time.monotonic() - running.began_s, virtual_s, running.guest_s)


def _folder(one: Running) -> Path:
    """Where the guest writes its trial."""
    return one.guest.share / "trials" / f"{one.trial.number:04d}"


def _digested(running: Running, ledger: Ledger, digests: Digests) -> Status:
    """Makes the tables of a trial whose guest is off. It runs in a thread of its own."""
    folder = _folder(running)
    try:
        if running.guest.unwritten():
            raise OSError(errno.ENOSPC, "what the guest wrote did not get to the disk")
        running.guest.check()
        status: Status | None = read_json(folder / "status.json")
        if status is None:
            raise LfpError("the guest ended before the trial did; see log/console.txt")
        if status["state"] == "done":
            trial.digest(running.settled, folder, ledger)
            trial.compare_syns(running.settled, folder, status)
        else:
            trial.digest_failed(running.settled, folder, ledger)
        return status
    except LfpError as error:
        if digests.ending:
            raise
        if shutil.disk_usage(running.guest.share).free < _ROOM_BYTES:
            raise OSError(errno.ENOSPC, str(error)) from error
        if error.status != EXIT_FAILED:
            raise
        folder.mkdir(exist_ok=True)
        write_json(folder / "params.json", params.of(running.trial))
        trial.digest_failed(running.trial, folder, ledger)
        verdict = verdicts.of_trial([verdicts.FAILED])
        return {"v": run_format.VERSION, "state": "failed", "error": str(error), "verdict": verdict}


def _check_disk(run_dir: Path) -> None:
    free = shutil.disk_usage(run_dir).free
    if free < _LEAST_DISK_BYTES:
        raise _full(run_dir, f"full, or nearly ({readable.size(free)} left)")


@contextmanager
def _full_disk_said(run_dir: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise _full(run_dir, "full") from error


def _full(run_dir: Path, how: str) -> LfpError:
    return LfpError(f"{run_dir}: the disk is {how}; make room, then: lfp run --resume {run_dir}")
