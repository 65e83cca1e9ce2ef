"""How evenly the flows of a trial share the path, and the streams of one transfer share it: Jain's index.

Flows are added and compared over spans in which all of them run, never by their own averages: the average of a flow
that had the line alone for a while says nothing about how it shared. The data are octets over time, all flows on one
clock: exact (each packet that arrived at the receiver, from captures), or counts at some moments (TCP_INFO samples of
the senders, intervals of the receivers). Between two moments a flow's rate counts as even; the error of a share that
this may cause is computed from the least and the most that each flow can have had. A program gets the octets behind a
repaired hole all at once, so a count may exceed the line's rate for a moment. The excess moves to the spans before and
after it, as far as the moments of the count allow, and the rest to the span before (`_keep_to_line`). Arrivals count as
they were captured, also where jitter, a shorter path or a gateway brings more in a span than the line carries.

The streams of one transfer are compared by what they had acknowledged when the first of them ended, from the sender's
TCP_INFO samples. Rejected: the whole goodput of each stream, because with equal amounts the slower one has the line
alone in the end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scenarios.statistics import line

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
SECOND_NS = 10**9
MOST_EVEN_NS = SECOND_NS // 10  # a flow's rate counts as even between two moments if they are no further apart
MOST_ERROR = 0.05  # largest error of a share that is still reported
MAIN, BESIDE = "main", ("second", "plain")  # names of flows; BESIDE are keys of a sender's last object


def jain(shares: Sequence[float]) -> float:
    """Jain's fairness index: 1 when all shares are equal, 1/n when one has everything; 0 when there is nothing."""
    squares = math.fsum(share * share for share in shares)  # sum() of Python 3.12 and later rounds differently
    return math.fsum(shares) ** 2 / (len(shares) * squares) if squares else 0.0


@dataclass(frozen=True)
class Count:
    """The octets of a flow: ``octets`` so far at each of ``edges_ns``. ``error_ns``: the largest error of all these
    moments. ``arrived``: the moments are those at which octets arrived, so that no octets arrived between two of
    them."""

    name: str
    edges_ns: I64
    octets: F64
    error_ns: int = 0
    arrived: bool = False

    @classmethod
    def of(cls, name: str, end: Mapping[str, Any], offset_ns: int | None = None) -> Count | None:
        """The count of a sender's last object; None where its receiver kept no intervals, or not all of them. Receivers
        on one machine share CLOCK_MONOTONIC. ``offset_ns``: None, or for receivers on several machines what is
        subtracted from their CLOCK_REALTIME."""
        receiver = end.get("receiver") or {}
        began = "t0_monotonic_ns" if offset_ns is None else "t0_realtime_ns"
        rows, begin_ns = receiver.get("intervals") or [], receiver.get(began)
        if not rows or begin_ns is None or receiver.get("intervals_dropped"):
            return None
        table = np.asarray(rows, np.int64)
        edges = np.append(table[:, 0], table[-1, 1]) + begin_ns - (offset_ns or 0)
        octets = np.concatenate([[0.0], np.cumsum(table[:, 2], dtype=np.float64)])
        return cls(name, edges, octets, int(receiver.get("t0_error_ns") or 0))

    @classmethod
    def of_arrivals(cls, name: str, t_ns: I64, octets: I64) -> Count:
        """``octets`` that had arrived by each of these moments. The flow begins just before the first one."""
        return cls(name, np.append(t_ns[0] - 1, t_ns), np.append(0.0, octets), arrived=True)

    @property
    def resolution_ns(self) -> int:
        """The largest distance between two moments; 1 for arrivals."""
        return 1 if self.arrived else int(np.diff(self.edges_ns).max())

    def at(self, t_ns: I64) -> F64:
        """The octets by these times."""
        if not self.arrived:
            return np.interp(t_ns, self.edges_ns, self.octets)
        found: F64 = self.octets[np.maximum(np.searchsorted(self.edges_ns, t_ns, side="right") - 1, 0)]
        return found

    def bounds(self, begin_ns: int, end_ns: int, error_ns: int) -> tuple[float, float]:
        """The least and the most octets that the flow can have had between two times that are known to ``error_ns``."""
        if self.arrived:
            least = float(np.diff(self.at(np.asarray([begin_ns, end_ns])))[0])
            return least, least
        last = self.edges_ns.size - 1
        begins, ends = (np.asarray([at - error_ns, at + error_ns]) for at in (begin_ns, end_ns))
        before, after = (np.searchsorted(self.edges_ns, times, side="right") - 1 for times in (begins, ends))
        begun, ended = (np.searchsorted(self.edges_ns, times) for times in (begins, ends))
        most = self.octets[min(ended[1], last)] - self.octets[max(before[0], 0)]
        least = self.octets[max(after[0], 0)] - self.octets[min(begun[1], last)]
        return max(float(least), 0.0), float(most)


@dataclass(frozen=True)
class Shared:
    """How flows shared a line. ``names`` in order; ``common_ns``: the length of the span in which all of them ran, 0
    without one; ``common_bps``: their rates over it; ``error``: the largest error of each flow's share. ``edges_ns``:
    borders of the seconds; ``bps``: a row of rates for each flow; ``whole``: whether the flow ran all through the
    second; ``ran``: whether it ran at all."""

    names: tuple[str, ...]
    common_ns: int
    common_bps: F64
    error: F64
    edges_ns: I64
    bps: F64
    whole: NDArray[np.bool_]
    ran: NDArray[np.bool_]

    @property
    def fair(self) -> list[float | None]:
        """Jain's index of each second, over the flows that ran all through it. None with fewer than two such flows, and
        if none of them had any octets."""
        both = [np.flatnonzero(own) for own in self.whole.T]
        return [jain(self.bps[own, n].tolist()) or None if own.size > 1 else None for n, own in enumerate(both)]

    def columns(self) -> dict[str, Any]:
        """The seconds as a table: a row for each second and each flow that ran in it."""
        second, flow = np.nonzero(self.ran.T)
        fair = self.fair
        total = self.bps.sum(axis=0)
        return {
            "t0_ns": self.edges_ns[second],
            "t1_ns": self.edges_ns[second + 1],
            "flow_name": [self.names[number] for number in flow],
            "bps": self.bps[flow, second],
            "whole": self.whole[flow, second],
            "flows_bps": total[second],
            "flow_jain": [fair[n] for n in second],
        }


def counts(ends: Mapping[str, Mapping[str, Any]], offset_ns: int | None = None) -> list[Count]:
    """The counts of flows by name, from their senders' last objects. Empty if a flow has no count, because the flows
    cannot be compared then."""
    found = [Count.of(name, own, offset_ns) for name, own in ends.items()]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else []


def shared(flows: Sequence[Count], line_bps: float | None = None, *, least: int = 2) -> Shared | None:
    """How these flows shared a line. ``line_bps``: the most that it brings in any span; None: no bound is known.
    Returns None with fewer than ``least`` flows, and without any."""
    if len(flows) < max(least, 1):
        return None
    begins, ends = (np.asarray([one.edges_ns[place] for one in flows]) for place in (0, -1))
    first, last, width = int(begins.min()), int(ends.max()), max(SECOND_NS, *(one.resolution_ns for one in flows))
    seconds = np.append(np.arange(first, last, width), last)
    coarse = [one.edges_ns for one in flows if one.resolution_ns > MOST_EVEN_NS]
    cells = np.unique(np.concatenate([seconds, begins, ends, *coarse]))
    octets = np.stack([np.diff(one.at(cells)) for one in flows])
    ran = (begins[:, None] <= cells[:-1]) & (ends[:, None] >= cells[1:])
    common = max(int(ends.min() - begins.max()), 0)
    inside = (cells[:-1] >= begins.max()) & (cells[1:] <= ends.min())
    if not all(one.arrived for one in flows):
        _keep_to_line(octets, ran, _uncertain(flows, cells), np.diff(cells), line_bps)
    had = octets[:, inside].sum(axis=1)
    starts = np.searchsorted(cells, seconds[:-1])
    return Shared(
        tuple(one.name for one in flows),
        common,
        had * 8e9 / max(common, 1),
        _error(flows, had, begins, ends),
        seconds,
        np.add.reduceat(octets, starts, axis=1) * 8e9 / np.diff(seconds),
        np.logical_and.reduceat(ran, starts, axis=1),
        np.logical_or.reduceat(ran, starts, axis=1),
    )


def _error(flows: Sequence[Count], had: F64, begins: I64, ends: I64) -> F64:
    """The largest errors of the flows' shares. ``had``: octets of each in the span in which all of them ran."""
    if all(one.arrived for one in flows):
        return np.zeros(len(flows)) if had.sum() else np.ones(len(flows))
    slack = sum(one.error_ns for one in flows)
    between = [one.bounds(int(begins.max()), int(ends.min()), slack) for one in flows]
    least, most = np.asarray(between, np.float64).T
    if not had.sum() or not most.sum():
        return np.ones(len(flows))
    others_most, others_least = most.sum() - most, least.sum() - least
    lowest = np.divide(least, least + others_most, out=np.zeros_like(least), where=least + others_most > 0)
    highest = np.divide(most, most + others_least, out=np.ones_like(most), where=most + others_least > 0)
    shares = had / had.sum()
    found: F64 = np.maximum(np.maximum(highest - shares, shares - lowest), 0.0)
    return found


def line_bps(params: Mapping[str, Any]) -> float | None:
    """The greatest rate of the one line that all flows of a trial share; None where there is no such bound."""
    if params.get("topology") not in (None, "dumbbell"):
        return None
    rates = [bps for _, bps in line.rates(params)]
    return max(rates) if rates and all(rates) else None


def _uncertain(flows: Sequence[Count], cells: I64) -> NDArray[np.bool_]:
    """For each flow and each border between two spans: whether it lies between two moments of the flow's count, so that
    the flow's octets on each side of the border are a guess."""
    inner = cells[1:-1]
    return np.stack([~np.isin(inner, one.edges_ns) for one in flows])


def _keep_to_line(
    octets: F64, ran: NDArray[np.bool_], uncertain: NDArray[np.bool_], lasted_ns: I64, line_bps: float | None
) -> None:
    """Moves the octets of a span that exceed the line's rate: to the span before it and then to the one behind, for
    flows whose count has no moment in between. The rest must have arrived earlier than it was counted, so it moves to
    the span before, for any flow that ran there. If all octets together exceed the line's rate, the line does not bound
    the counts (a gateway compresses), and nothing moves."""
    if not line_bps or octets.sum() * 8e9 > line_bps * lasted_ns.sum():
        return
    most, last = line_bps * lasted_ns / 8e9, octets.shape[1] - 1
    for before in (ran[:, :-1] & uncertain, ran[:, :-1]):
        for span in range(last, 0, -1):
            _move(octets, span, span - 1, before[:, span - 1], most[span])
        for span in range(last):
            _move(octets, span, span + 1, ran[:, span + 1] & uncertain[:, span], most[span])


def _move(octets: F64, span: int, to: int, may: NDArray[np.bool_], most: float) -> None:
    movable = octets[:, span] * may
    beyond = octets[:, span].sum() - most
    if beyond > 0 and movable.sum() > 0:
        moved = movable * min(1.0, beyond / movable.sum())
        octets[:, span] -= moved
        octets[:, to] += moved


def of_flow(found: Shared | None, name: str) -> dict[str, Any]:
    """``flows_common_ns``, ``flow_share_error`` and, where no flow's share is more uncertain than MOST_ERROR,
    ``flows_bps``, ``flow_share``, ``flow_jain`` and ``flow_jain_min`` (the least of the seconds in which all flows ran;
    None without one) of a flow; empty if fewer than two flows ran at the same time."""
    if found is None or not found.common_ns or len(found.names) < 2:
        return {}
    number, total = found.names.index(name), float(found.common_bps.sum())
    columns: dict[str, Any] = {"flows_common_ns": found.common_ns, "flow_share_error": float(found.error[number])}
    if not total or found.error.max() > MOST_ERROR:
        return columns
    own = float(found.common_bps[number])
    together = np.all(found.whole, axis=0).tolist()
    seconds = [index for index, whole in zip(found.fair, together, strict=True) if index and whole]
    return columns | {
        "flows_bps": total,
        "flow_share": own / total,
        "flow_jain": jain(found.common_bps.tolist()),
        "flow_jain_min": min(seconds, default=None),
    }


def of_streams(
    receiver: Mapping[str, Any], acked: Sequence[tuple[I64, I64]] = (), *, by_time: bool = False
) -> dict[str, Any]:
    """``stream_min_bps``, ``stream_max_bps`` and ``stream_jain`` of a receiver's account; empty with one stream. The
    first two are goodputs, from the transfer's beginning to the stream's own last octet. ``acked``: for each stream the
    times of its samples and the octets that were acknowledged by then. ``by_time``: all streams sent for the same time.
    Then the index can be computed from their amounts if samples are missing. Without ``by_time`` and samples it is
    None."""
    streams = receiver.get("streams") or []
    if len(streams) < 2:
        return {}
    rates = [_bps(stream) for stream in streams]
    index = _jain_of_streams(acked) if len(acked) == len(streams) else None
    if index is None and by_time:
        index = jain([stream["bytes"] for stream in streams])
    return {"stream_min_bps": min(rates), "stream_max_bps": max(rates), "stream_jain": index}


def _jain_of_streams(acked: Sequence[tuple[I64, I64]]) -> float:
    """The index of the octets that each stream had acknowledged when the first of them had all of its octets
    acknowledged."""
    first_end_ns = min(int(t_ns[np.argmax(octets)]) for t_ns, octets in acked)
    return jain([float(np.interp(first_end_ns, t_ns, octets)) for t_ns, octets in acked])


def _bps(stream: Mapping[str, Any]) -> float:
    return float(stream["bytes"] * 8 * 10**9 / stream["last_byte_ns"]) if stream.get("last_byte_ns") else 0.0
