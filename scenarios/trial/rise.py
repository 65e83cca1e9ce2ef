"""How soon after its beginning a flow reaches its rate: the start-up of a transfer, found without what its sender
reports.

The rate is what the receiver's program gets over the second half of the transfer. A flow reaches it when its rate over
a round trip is nine tenths of it. The moments are the borders of the receiver's intervals (`[transfer] interval`), so
the error is at most one interval. Rejected: nine tenths of the peak, which a burst behind a repair can set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scenarios.trial.recovery import Series, of_intervals

ENOUGH = 0.9


def columns(params: Mapping[str, Any], receiver: Mapping[str, Any], origin_ns: int | None) -> dict[str, Any]:
    """``rise_ns`` since ``origin_ns`` (the flow's beginning, CLOCK_MONOTONIC); None without intervals."""
    intervals = receiver.get("intervals")
    if not intervals or origin_ns is None or "t0_monotonic_ns" not in receiver:
        return {"rise_ns": None}
    found = rise(of_intervals(intervals), int(params.get("rtt_ns") or 0))
    return {"rise_ns": None if found is None else found + receiver["t0_monotonic_ns"] - origin_ns}


def rise(series: Series, round_ns: int) -> int | None:
    """The end of the first round trip (at least an interval) that has nine tenths of the second half's rate; None where
    nothing came in that half."""
    moments, octets = series
    half = int(np.searchsorted(moments, (moments[0] + moments[-1]) / 2))
    lasted = int(moments[-1] - moments[half])
    rate = (octets[-1] - octets[half]) / lasted if lasted else 0.0
    stop = np.searchsorted(moments, moments + max(round_ns, 1))
    own = np.flatnonzero(stop < len(moments))
    fast = octets[stop[own]] - octets[own] >= ENOUGH * rate * (moments[stop[own]] - moments[own])
    return int(moments[stop[own[np.argmax(fast)]]]) if rate and fast.any() else None
