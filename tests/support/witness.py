"""Says whether the product or the machine was late, by processes that do nothing but sleep during a measurement of
time.

A test that bounds time on the real machine measures inside ``with Witness(tolerates_ms=…) as witness:`` and asks
``witness.at_most(value, bound, …)`` or ``at_least`` afterwards. A value within its bound passes. One that is outside
is the product's fault, and the test fails, unless the witness was outside its own bound as well: then nothing is known
of the product, and the test ends as *inconclusive*: skipped with both figures, and listed at the end of the run.

The witness's bound: 99 of 100 wake-ups of its sleepers within ``tolerates_ms`` of their time, no more than 2 % of the
machine taken by a hypervisor, and no more than 5 % by programs that do not belong to the test. ``tolerates_ms`` is the
lateness that the measured bound leaves room for. One sleeper has the delay box's real-time priority. The ordinary
ones, one a processor, are asked only where the measurement itself depends on ordinary programs (ping, a receiver in
Python) and leaves the processors idle: a load of its own would make them late.
Rejected: measuring again until it passes, which says how patient the test is, not what the product does.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import NoReturn

import pytest

from netcommon.binaries import find
from netcommon.process import Event, Tool
from scenarios.trial.validity import CpuTimes
from support.others import others_s

INCONCLUSIVE = "inconclusive: "
STEAL_LIMIT, OTHERS_LIMIT = 0.02, 0.05
_BOX_PRIORITY, _DEADLINE_S = 10, 60.0


@dataclass(frozen=True)
class Machine:
    """What the witness saw: p99 lateness of either kind of sleeper (ns), shares of the machine (0 to 1)."""

    real_time_ns: int
    ordinary_ns: int
    steal: float
    idle: float
    others: float

    def __str__(self) -> str:
        return (
            f"timers late by {self.real_time_ns / 1e6:.2f} ms (p99, real-time) and {self.ordinary_ns / 1e6:.2f} ms "
            f"(ordinary), hypervisor {self.steal:.1%}, other programs {self.others:.0%}, idle {self.idle:.0%}"
        )

    def disturbed(self, tolerates_ns: float, ordinary: bool) -> bool:
        """Whether the machine alone may have put a measurement that tolerates this lateness outside its bound."""
        late_ns = max(self.real_time_ns, self.ordinary_ns if ordinary else 0)
        return late_ns > tolerates_ns or self.steal > STEAL_LIMIT or self.others > OTHERS_LIMIT


@dataclass(frozen=True)
class _Moment:
    """Readings at one moment; the shares of the machine are computed from two of them."""

    s: float
    cpu: CpuTimes
    others_s: float

    @classmethod
    def now(cls) -> _Moment:
        return cls(time.monotonic(), CpuTimes.now(), others_s())


def _seen(real_time: Event, ordinary: list[Event], before: _Moment, after: _Moment) -> Machine:
    """What the witness saw: from the sleepers' last lines and the readings before and after."""
    total = max(after.cpu.total - before.cpu.total, 1)
    steal, idle = (after.cpu.steal - before.cpu.steal) / total, (after.cpu.idle - before.cpu.idle) / total
    others = (after.others_s - before.others_s) / (after.s - before.s) / (os.cpu_count() or 1)
    others = min(max(others, 0.0), 1.0)  # a process that ends during the reading may count twice, or not at all
    late_ns = int(real_time["p99_ns"]), max(int(end["p99_ns"]) for end in ordinary)
    return Machine(*late_ns, steal, idle, others)


def judge(within: bool, disturbed: bool, said: str) -> None:
    """A value within its bound passes. Outside, it fails on a quiet machine and is inconclusive on a disturbed one."""
    if within:
        return
    (_inconclusive if disturbed else _fail)(said)


def _inconclusive(said: str) -> NoReturn:
    pytest.skip(INCONCLUSIVE + said)


def _fail(said: str) -> NoReturn:
    pytest.fail(said)


class Witness:
    """Context manager around one measurement; ``machine`` is what was seen, once it is left."""

    def __init__(self, tolerates_ms: float, *, ordinary: bool = True) -> None:
        self._tolerates_ns, self._ordinary = tolerates_ms * 1e6, ordinary
        priorities = [_BOX_PRIORITY] + [0] * (os.cpu_count() or 1)
        program = [str(find("timer-witness")), "--json", "--period", "1ms", "--priority"]
        self._sleepers = [Tool([*program, str(priority)]) for priority in priorities]
        self._started = ExitStack()
        self.machine: Machine | None = None

    def __enter__(self) -> Witness:
        for sleeper in self._sleepers:
            self._started.enter_context(sleeper).wait_event("ready", _DEADLINE_S)
        self._before = _Moment.now()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        with self._started:
            after = _Moment.now()
            real_time, *ordinary = (sleeper.stop(_DEADLINE_S) for sleeper in self._sleepers)
        if kind is None:
            assert real_time and all(ordinary), "a sleeper wrote no 'end' line"
            self.machine = _seen(real_time, [end for end in ordinary if end], self._before, after)

    def at_most(self, value: float, bound: float, unit: str, what: str) -> None:
        """Passes when ``value`` <= ``bound``; else fails or is inconclusive, with figures in ``unit``."""
        self._judge(value <= bound, f"{what} {value:.6g} {unit}, want at most {bound:.6g} {unit}")

    def at_least(self, value: float, bound: float, unit: str, what: str) -> None:
        """Passes when ``value`` >= ``bound``; else as `at_most`."""
        self._judge(value >= bound, f"{what} {value:.6g} {unit}, want at least {bound:.6g} {unit}")

    def _judge(self, within: bool, said: str) -> None:
        assert self.machine, "ask the witness after its block"
        disturbed = self.machine.disturbed(self._tolerates_ns, self._ordinary)
        judge(within, disturbed, f"{said}; {self.machine}; tolerated {self._tolerates_ns / 1e6:g} ms")
