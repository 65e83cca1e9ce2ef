"""Processor time of programs that do not belong to the test. Its own time and its children's do not count, and neither
does the time of the kernel's threads, which work for any sender of packets."""

from __future__ import annotations

import os
from pathlib import Path

_KERNEL = 2  # kthreadd, the parent of all kernel threads


def others_s() -> float:
    """Seconds so far, of all programs that run now and of their children that have ended. The difference of two calls
    is the time between them."""
    parents, used = dict[int, int](), dict[int, float]()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        parents[int(folder.name)] = int(fields[1])
        used[int(folder.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    ours = {os.getpid(), _KERNEL}
    return sum(seconds for pid, seconds in used.items() if not ours & _line(pid, parents))


def _line(pid: int, parents: dict[int, int]) -> set[int]:
    """A process and all that it comes from."""
    found = set[int]()
    while pid and pid not in found:
        found.add(pid)
        pid = parents.get(pid, 0)
    return found
