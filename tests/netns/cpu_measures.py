"""Measurements in a guest where system calls have a cost (test_virtual_cpu.py)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

PRICE = Path("/proc/call_cost")


def taken_ns(work: Callable[[], object], times: int) -> int:
    """How far the clock moves while ``work`` is done this many times."""
    began = time.monotonic_ns()
    for _ in range(times):
        work()
    return time.monotonic_ns() - began


def calls() -> dict[str, int]:
    """Times, in ns: of 1,000 calls at 1 ms each; of 100 writes of 1 MB at 2 ps a byte; of both without a price."""
    null, data = os.open("/dev/null", os.O_WRONLY), bytes(10**6)
    PRICE.write_text("1000000 0", encoding="ascii")
    call = taken_ns(os.getppid, 1000)
    PRICE.write_text("0 2000", encoding="ascii")
    byte = taken_ns(lambda: os.write(null, data), 100)
    PRICE.write_text("0 0", encoding="ascii")
    free = taken_ns(lambda: (os.getppid(), os.write(null, data)), 100)
    return {"call": call, "byte": byte, "free": free}


def searches() -> int:
    """How far the clock moves, in ns, while a process that pays 1 ms a call tries to execute 50 programs and to stat 50
    files that do not exist."""
    began = time.monotonic_ns()
    PRICE.write_text("1000000 0", encoding="ascii")
    for number in range(50):
        for look in (lambda path: os.execv(path, ["x"]), os.stat):
            with suppress(OSError):
                look(f"/proc/self/exe/{number}" if number % 2 else f"/nowhere/{number}")
    return time.monotonic_ns() - began


def rests() -> int:
    """How late the last of 100 sleeps of 10 ms ends, in ns, where each call costs 100 µs: costs do not add up."""
    PRICE.write_text("100000 0", encoding="ascii")
    late_ns = 0
    for _ in range(100):
        began = time.monotonic_ns()
        time.sleep(0.01)
        late_ns = time.monotonic_ns() - began - 10**7
    return late_ns


def beside() -> dict[str, int]:
    """Two children make 500 calls at 1 ms each, side by side; this process, without a price, sleeps 10 times 10 ms
    meanwhile. All three times, in ns."""
    children = {name: _child(500) for name in ("one", "other")}
    free = taken_ns(lambda: time.sleep(0.01), 10)
    return {"free": free} | {name: int(os.read(reader, 100)) for name, reader in children.items()}


def _child(calls: int) -> int:
    """Starts a child that makes so many calls at 1 ms each. Returns the pipe from which its time in ns is read."""
    reader, writer = os.pipe()
    if not os.fork():
        PRICE.write_text("1000000 0", encoding="ascii")
        os.write(writer, str(taken_ns(os.getppid, calls)).encode())
        os._exit(0)
    return reader


def inherited() -> int:
    """The time that 100 calls of a child take under its parent's price, in ns."""
    PRICE.write_text("1000000 0", encoding="ascii")
    reader, writer = os.pipe()
    if not os.fork():
        os.write(writer, str(taken_ns(os.getppid, 100)).encode())
        os._exit(0)
    return int(os.read(reader, 100))


def refused(text: str) -> bool:
    """Whether a price is refused."""
    try:
        PRICE.write_text(text, encoding="ascii")
    except OSError:
        return True
    return False
