"""Both clocks read together, so that monotonic samples and realtime captures share one time axis.

The pair belongs to the kernel that measures. Each trial has its own (status.json), because a guest in virtual time has
clocks of its own. Rejected: one pair for each run. It put a guest's samples 28 million seconds away from its packets.
"""

from __future__ import annotations

import time


def pair() -> dict[str, int]:
    """``monotonic_ns`` and ``realtime_ns`` of one moment: the pair whose two readings were closest in ten tries."""
    best: tuple[int, int, int] | None = None
    for _ in range(10):
        before, realtime, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        if best is None or after - before < best[0]:
            best = (after - before, (before + after) // 2, realtime)
    assert best
    return {"monotonic_ns": best[1], "realtime_ns": best[2]}
