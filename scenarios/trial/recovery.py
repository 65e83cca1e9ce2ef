"""How long a transfer takes to recover from outages of its path (`[path] loss = "time:8s-10s"`).

Recovery is the time from the end of the last outage to the first moment from which the receiver gets, over a second, at
least 90 % of the rate that it had before the first outage. The rate before is the mean from half-way between the
transfer's beginning and that outage, so that slow start does not count. A second, because a single repaired hole hands
the receiver all that waited behind it, which looks like a high rate for a moment. The resolution is the receiver's
interval (`[transfer] interval`). Rejected: the sender's samples, because with gateways its bytes are acknowledged by
the near one, which takes data during an outage.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from netcommon import quantity

BACK = 0.9  # of the rate before
SPAN_NS = 10**9
Outage = tuple[int, int]  # begin and end, ns
Interval = Sequence[int]  # begin, end, ns since the receiver's t0; bytes


def of_trial(params: Mapping[str, Any], receiver: Mapping[str, Any], box: Mapping[str, Any]) -> int | None:
    """``recovery_ns`` of a trial: from its params, the receiver's account and the box's end. None without outages,
    without the moments to compare, or where the rate does not come back before the transfer ends."""
    outages = _outages(str(params.get("loss") or ""))
    if not outages or not box.get("clock") or not receiver.get("intervals"):
        return None
    # The box counts outages from its clock's moment, the receiver its intervals from t0; both are CLOCK_MONOTONIC.
    shift_ns = box["clock"]["monotonic_ns"] - receiver["t0_monotonic_ns"]
    first, last = outages[0][0] + shift_ns, outages[-1][1] + shift_ns
    return recovery_ns(receiver["intervals"], first, last)


def recovery_ns(intervals: Sequence[Interval], first_ns: int, last_ns: int) -> int | None:
    """Time from ``last_ns``, the end of the last outage, until the rate of the time before ``first_ns`` is back; both
    in the intervals' time."""
    before = [one for one in intervals if one[0] >= first_ns // 2 and one[1] <= first_ns]
    if not before:
        return None
    enough = BACK * sum(one[2] for one in before) / (before[-1][1] - before[0][0])
    begins, reached = [one[0] for one in intervals], 0
    for number in range(bisect_left(begins, last_ns), len(intervals)):
        reached = bisect_left(begins, begins[number] + SPAN_NS, lo=number)
        if reached == len(intervals):
            return None
        got = sum(one[2] for one in intervals[number:reached])
        if got >= enough * (begins[reached] - begins[number]):
            return begins[number] - last_ns
    return None


def _outages(loss: str) -> list[Outage]:
    """The outages of a loss model in order; none if it is another model."""
    kind, _, ranges = loss.partition(":")
    if kind != "time":
        return []
    ends = (one.split("-") for one in ranges.split(","))
    return sorted((quantity.parse_duration_ns(begin), quantity.parse_duration_ns(end)) for begin, end in ends)
