"""The cases on the host: each in a guest of its own, several side by side, and their results in the table's order."""

from __future__ import annotations

import functools
import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from netcommon import quantity
from netcommon.errors import LfpError
from netcommon.ledger import Ledger
from scenarios.conformance import cases
from scenarios.conformance.cases import Case
from scenarios.conformance.inside import FAILS, PASSES
from scenarios.plan.estimate import TimeLeft
from scenarios.plan.model import Capture, Run, Scenario
from scenarios.plan.path import PathTable
from scenarios.plan.plan import Trial
from scenarios.plan.transfer import Transfer
from scenarios.virtual import boxes, init, kernel, memory
from scenarios.virtual.guest import Guest

CASE_S = 4.0  # wall time of a plain case
_LOOK_S = 0.05
_MORE_BYTES = 256 * 2**20  # memory for the buffers of a thousand connections and for a product's own programs
_ROOM = 10, 9  # the line's rate as a multiple of the gateways' own limit, if they have one


@dataclass(frozen=True)
class Result:
    """The result of a case. ``says``: the figures, the first evidence, or the reason, in one line."""

    case: Case
    result: str
    says: str
    taken_ns: int = 0

    @property
    def passes(self) -> bool:
        return self.result == PASSES

    @property
    def fails(self) -> bool:
        return self.result == FAILS


def trial_of(base: Trial, case: Case) -> Trial:
    """A scenario's gateways on a case's path. Of the scenario's other settings only the address family and the TCP
    profile are used."""
    setting = base.setting
    values: dict[str, Any] = dict(cases.PATH) | dict(case.path)
    limit = setting.gateway.rate
    if limit * _ROOM[0] > int(1e8) * _ROOM[1]:
        values["rate"] = limit * _ROOM[0] // _ROOM[1]
        values["rate"] = quantity.format_value(quantity.RATE, -(-values["rate"] // 10**6) * 10**6)
    path = PathTable.model_validate(values)
    transfer = Transfer.model_validate({"duration": "2s", "family": setting.transfer.family})
    made = Scenario(
        scenario=setting.scenario,
        path=path,
        transfer=transfer,
        profile=setting.profile,
        gateway=setting.gateway,
        cpu=setting.cpu,
        capture=Capture(),
        run=Run(seed=base.seed),
    )
    return boxes.settled(replace(base, setting=made), "auto")


def run(
    base: Trial,
    chosen: Iterable[Case],
    jobs: int,
    ledger: Ledger,
    done: Callable[[Result, int, float], None],
) -> list[Result]:
    """Runs the cases, ``jobs`` at a time. ``done`` gets each result, how many there are so far, and the seconds that
    are left."""
    image, todo = kernel.require(), list(chosen)
    needed = max(_memory(trial_of(base, case)) for case in todo)
    jobs = memory.jobs_that_fit(needed, jobs)
    left, results = TimeLeft(expected_s([case], jobs) for case in todo), dict[str, Result]()
    stop = threading.Event()
    with ThreadPoolExecutor(jobs) as pool:
        waiting: set[Future[tuple[Result, float]]] = {
            pool.submit(_one, image, base, case, ledger, stop, alone=jobs == 1) for case in todo
        }
        try:
            while waiting:
                ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in ended:
                    result, took_s = future.result()
                    results[result.case.name] = result
                    left.done(expected_s([result.case], jobs), took_s / jobs)
                    done(result, len(results), left.seconds())
        finally:
            stop.set()
            for future in waiting:
                future.cancel()
    return [results[case.name] for case in todo]


def expected_s(chosen: Iterable[Case], jobs: int) -> float:
    """How long all cases take on an otherwise idle machine."""
    return sum(case.cost for case in chosen) * CASE_S / jobs


def _memory(trial: Trial) -> int:
    return memory.guest_bytes(trial.setting) + _MORE_BYTES


def _one(
    image: Path, base: Trial, case: Case, ledger: Ledger, stop: threading.Event, *, alone: bool
) -> tuple[Result, float]:
    """Runs a case in a guest of its own. A guest that crashes is a failure of the case, since guests differ only in the
    case. LfpError where `lfp` itself failed in the guest, which says nothing about the gateways."""
    began_s, trial = time.monotonic(), trial_of(base, case)
    back_end = boxes.choose(trial, "auto")
    supers = boxes.super_packets(trial) if back_end == "netem" else (0, 0)
    with ExitStack() as stack:
        share = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lfp-share-")))
        arguments = {
            "trial": trial,
            "box": back_end,
            "super_bytes": supers,
            "case": case.name,
            "share": str(init.SHARE),
        }
        job = {"call": ("scenarios.conformance.inside", "run", arguments)}
        guest = Guest(image, share, _memory(trial), base.seed, job, alone=alone)
        for path in (share, guest.folder):
            ledger.add_directory(path)
            stack.callback(functools.partial(ledger.drop_directory, path))
        with guest:
            try:
                while not guest.ended():
                    if stop.wait(_LOOK_S):
                        raise LfpError("interrupted")
                guest.check()
                found = json.loads((share / init.RESULT).read_text(encoding="utf-8"))
                result = Result(case, found["result"], found["says"], found["taken_ns"])
            except (LfpError, OSError) as error:
                if getattr(error, "status", 1) != 1:
                    raise
                if (share / init.ERROR).exists():
                    raise LfpError(f"case {case.name}: lfp failed in the guest: {error}") from None
                result = Result(case, FAILS, f"the guest failed: {error}")
    return result, time.monotonic() - began_s
