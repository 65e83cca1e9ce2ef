"""The sender's knowledge at every moment, computed from segments and ACKs in numpy without a loop over packets. Which
ACKs are samples of the round-trip time is pktlogger's rule, and its table has them.

All times are int64 ns on one clock, and all sequence numbers are int64 and unwrapped. `sent_ns` and `ack_ns` (the
arrival of the ACK at the sender) are sorted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dashboard.core.levels import Levels

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """One quantity over time; `t_ns` is sorted."""

    t_ns: I64
    value: I64

    @classmethod
    def indexed(cls, t_ns: I64, value: I64, levels: Levels) -> Series:
        """A series whose index is there already."""
        found = cls(t_ns, value)
        found.__dict__["levels"] = levels
        return found

    @cached_property
    def levels(self) -> Levels:
        """The index by which any range is thinned; made on first use."""
        return Levels(self.t_ns, self.value)


NO_SERIES = Series(np.zeros(0, np.int64), np.zeros(0, np.int64))


def unacknowledged_bytes(sent_ns: I64, seq: I64, end: I64, ack_ns: I64, ack: I64) -> Series:
    """Bytes sent and not yet acknowledged, after every segment sent and every ACK received.

    It is the highest sequence number sent − the highest ACK received (tcptrace's "outstanding data"). Data that SACK
    has reported and data that were lost count, so it is more than what is in flight while losses are repaired. If a
    segment and an ACK have the same time, the ACK counts first. The value is never negative, although the FIN's ACK
    lies one beyond the last byte.
    """
    if not sent_ns.size:
        return Series(sent_ns, sent_ns)
    highest = np.concatenate([seq[:1], np.maximum.accumulate(end)])
    acked = np.maximum.accumulate(np.concatenate([seq[:1], ack]))
    acks_before = np.searchsorted(ack_ns, sent_ns, side="right")
    sends_before = np.searchsorted(sent_ns, ack_ns, side="left")
    at_send = np.arange(sent_ns.size) + acks_before
    at_ack = np.arange(ack_ns.size) + sends_before
    t, value = np.empty(sent_ns.size + ack_ns.size, np.int64), np.empty(sent_ns.size + ack_ns.size, np.int64)
    t[at_send], t[at_ack] = sent_ns, ack_ns
    value[at_send] = highest[1:] - acked[acks_before]
    value[at_ack] = highest[sends_before] - acked[1:]
    return Series(t, np.maximum(value, 0))


def passage_ns(came_ns: I64, came_end: I64, left_ns: I64, left_end: I64) -> Series:
    """How long the last byte of each segment that left had been inside: its time of leaving − its first time of
    arrival.

    `came_*`: segments as they arrived, each byte once. `left_*`: segments as they left, perhaps cut again. A segment
    whose last byte was never seen to arrive gives no point.
    """
    order = np.argsort(came_end, kind="stable")
    place = np.searchsorted(came_end[order], left_end, side="left")
    known = place < order.size
    return Series(left_ns[known], left_ns[known] - came_ns[order][place[known]])


def nice_bin_ns(span_ns: int, bins: int = 200, least_ns: float = 0.0) -> int:
    """A bin width of 1, 2 or 5 × 10^n ns that gives at most about `bins` bins. It is at least 1 ms and `least_ns`."""
    wanted = max(span_ns / bins, least_ns, 1e6)
    power = 10 ** int(np.floor(np.log10(wanted)))
    return next(int(step * power) for step in (1, 2, 5, 10) if step * power >= wanted * 0.999)
