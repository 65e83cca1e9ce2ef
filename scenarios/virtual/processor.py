"""Which processor a guest runs on: all processes of a guest share one, and the next guest gets another.

The kernel of a guest and each program in it are processes of the host that take turns: at every system call one of them
wakes another and sleeps. On two processors each turn wakes a sleeping processor, which in a virtual machine costs an
exit to the hypervisor. No two processes of a guest run at the same time, so a guest loses nothing on one processor. A
gateway trial of 5 virtual seconds took 12.1 s of wall time and 10.1 s of CPU time on two processors, and 4.7 s and
4.8 s on one.

A guest claims a processor by an abstract Unix address, which disappears with the process that holds it, however that
process ends. Rejected: the number of the job, because runs side by side do not know each other's jobs.
"""

from __future__ import annotations

import os
import socket

TURNS = 64  # guests on one processor that are counted; further guests share processors by chance


class Claim:
    """A processor for one guest: the one with the fewest claims. A context manager; ``number`` is the processor's."""

    def __init__(self) -> None:
        self._address = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.number = self._take()

    def _take(self) -> int:
        allowed = sorted(os.sched_getaffinity(0))
        first = os.getpid() % len(allowed)  # runs in other network namespaces do not see these claims
        for turn in range(TURNS):
            for number in allowed[first:] + allowed[:first]:
                try:
                    self._address.bind(f"\0lfp-guest-on-processor-{number}-{turn}")
                    return number
                except OSError:
                    continue
        return allowed[first]

    def __enter__(self) -> Claim:
        return self

    def __exit__(self, *_: object) -> None:
        self._address.close()
