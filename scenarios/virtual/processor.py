"""Which processors a guest runs on: its kernel on one, its programs on the same or on another that has nothing to do.

The kernel of a guest and each program in it are processes of the host that take turns: at every system call one of them
wakes another and sleeps. On two processors each turn wakes a sleeping processor, which in a virtual machine costs an
exit to the hypervisor. A gateway trial of 5 virtual seconds took 12.1 s of wall time and 10.1 s of CPU time on two
processors, and 4.7 s and 4.8 s on one. Where a processor has nothing to do, neither side sleeps: each polls for the
other for some 0.25 ms, and a system call takes 4 µs instead of 11 (patches/7/two-processors.patch). That uses the
processor up. So a guest gets it only if it is the only guest, nothing else runs, and the caller starts no other.

A guest claims a processor by an abstract Unix address, which disappears with the process that holds it, however that
process ends. Rejected: the number of the job, because runs side by side do not know each other's jobs.
"""

from __future__ import annotations

import os
import re
import socket
import time
from pathlib import Path

TURNS = 64  # guests that are counted on one processor; further ones share processors by chance
_STAT = Path("/proc/stat")
_LOOKS, _LOOK_S = 5, 0.002


class Claim:
    """A processor for one guest: the one with the fewest claims. A context manager. ``number``: the processor of its
    kernel; ``programs``: the processor of its programs, None: the same one. ``alone``: no other guest will run at the
    same time."""

    def __init__(self, *, alone: bool = False) -> None:
        self._held: list[socket.socket] = []
        allowed = sorted(os.sched_getaffinity(0))
        first = os.getpid() % len(allowed)  # as runs in other network namespaces do not see these claims
        self._order = allowed[first:] + allowed[:first]
        self.number = self._take()
        self.programs = self._spare() if alone else None

    def _take(self) -> int:
        return next(
            (number for turn in range(TURNS) for number in self._order if self._bind(number, turn)), self._order[0]
        )

    def _spare(self) -> int | None:
        """A processor that has nothing to do; None where another guest or anything else runs."""
        others = [number for number in self._order if number != self.number]
        is_only = bool(others) and _is_idle() and all(self._bind(number, 0) for number in others)
        self._release(2 if is_only else 1)
        return others[0] if is_only else None

    def _bind(self, number: int, turn: int) -> bool:
        address = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            address.bind(f"\0lfp-guest-on-processor-{number}-{turn}")
        except OSError:
            address.close()
            return False
        self._held.append(address)
        return True

    def _release(self, kept: int) -> None:
        """Gives up all claims but the first ``kept``."""
        for address in self._held[kept:]:
            address.close()
        del self._held[kept:]

    def __enter__(self) -> Claim:
        return self

    def __exit__(self, *_: object) -> None:
        self._release(0)


def _is_idle() -> bool:
    """Whether nothing but this process runs on the machine."""
    for look in range(_LOOKS):
        time.sleep(_LOOK_S if look else 0)
        running = re.search(r"^procs_running (\d+)", _STAT.read_text(encoding="ascii"), re.MULTILINE)
        if running and int(running[1]) <= 1:
            return True
    return False
