"""Both clocks read together, so that monotonic samples and realtime captures share one time axis.

The pair belongs to the kernel that measures. Each trial has its own (status.json), because a guest in virtual time has
clocks of its own. Rejected: one pair for each run. It put a guest's samples 28 million seconds away from its packets.

All reported times of a trial count from one moment, `origin_ns`. Rejected: each receiver's own beginning. The same
outage would have another time in each flow, and yet another one in the tables of the trial.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal


def pair() -> dict[str, int]:
    """``monotonic_ns`` and ``realtime_ns`` of one moment: the pair whose two readings were closest in ten tries."""
    best: tuple[int, int, int] | None = None
    for _ in range(10):
        before, realtime, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        if best is None or after - before < best[0]:
            best = (after - before, (before + after) // 2, realtime)
    assert best
    return {"monotonic_ns": best[1], "realtime_ns": best[2]}


def origin_ns(transfer: Mapping[str, Any], which: Literal["monotonic", "realtime"]) -> int | None:
    """The zero of a trial's times, by the given clock: the moment when the sender of its first flow began to connect.
    iperf3 does not report it; there it is the beginning of the receiver's first interval. None without either."""
    sides = (transfer.get(side) or {} for side in ("sender", "receiver"))
    return next((int(side[f"t0_{which}_ns"]) for side in sides if side.get(f"t0_{which}_ns")), None)
