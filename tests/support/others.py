"""Processor time that programs take which have nothing to do with the test: neither it, nor what it started, nor the
kernel's own threads, which work for whoever sends packets."""

from __future__ import annotations

import os
from pathlib import Path

_KERNEL = 2  # kthreadd, the parent of all kernel threads


def others_s() -> float:
    """Seconds so far, of all that run now and of their children that have ended. Two calls give what lies between."""
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
