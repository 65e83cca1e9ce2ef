"""The queue in front of a bottleneck, from the packets of one direction that the delay box recorded: how long each
waited (its sojourn), how many octets waited at any time, and what was marked and dropped.

A sojourn runs from a packet's arrival at the box until its last bit has left the bottleneck. So it includes the
packet's own time on the line, and the time on an access line in front. CoDel (RFC 8289) and DualPI2 (RFC 9332) bound
the same time without the packet's own. Percentiles of sojourns are taken over packets. Percentiles of the octets in the
queue are taken over time, from the first arrival to the last exit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scenarios.plan.columns import QUEUED, SOJOURNS

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
STEP_NS = 10**8  # length of a row of `over_time`
MOST_ROWS = 20_000  # of a direction; a longer record has longer rows
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}


@dataclass(frozen=True)
class Packets:
    """The packets that came to the bottleneck of a direction, in order of arrival. Times are in ns; octets are those
    that the rate counts. ``left_ns``: when the last bit left the bottleneck, or when the queue dropped the packet."""

    arrived_ns: I64
    left_ns: I64
    octets: I64
    sent: NDArray[np.bool_]
    marked: NDArray[np.bool_]


def columns(packets: Packets) -> dict[str, int]:
    """The columns ``sojourn_…_ns`` and ``queued_…_bytes`` of all packets; empty if no packet was sent."""
    waited = np.sort((packets.left_ns - packets.arrived_ns)[packets.sent])
    if not waited.size:
        return {}
    values = {f"sojourn_{name}_ns": int(waited[_rank(SHARES[name], waited.size)]) for name in SOJOURNS}
    times, octets = _occupancy(packets)
    lasted = np.diff(times)
    whole = int(lasted.sum())
    order = np.argsort(octets[:-1], kind="stable")
    until = np.cumsum(lasted[order])
    for name in QUEUED:
        if name == "mean":
            value = float((octets[:-1] * lasted).sum() / whole) if whole else 0.0
        else:
            place = min(int(np.searchsorted(until, SHARES[name] * whole)), order.size - 1)
            value = float(octets[order[place]]) if whole else 0.0
        values[f"queued_{name}_bytes"] = round(value)
    return values


def over_time(packets: Packets, origin_ns: int) -> dict[str, Any]:
    """A row for each STEP_NS from ``origin_ns`` on: how many packets left in that time (``packets``, ``marked``,
    ``dropped``), the sojourns of those that were sent (null if none was), and the mean and the largest number of octets
    in the queue."""
    first, last = min(origin_ns, int(packets.arrived_ns[0])), int(packets.left_ns.max())
    step = max(STEP_NS, -(-(last - first) // MOST_ROWS))
    begin = origin_ns - -(-(origin_ns - first) // step) * step
    edges = begin + step * np.arange((last - begin) // step + 2)
    rows = edges.size - 1
    row = (packets.left_ns - begin) // step
    counted = {
        name: np.bincount(row[which], minlength=rows)
        for name, which in (
            ("packets", packets.sent),
            ("marked", packets.marked & packets.sent),
            ("dropped", ~packets.sent),
        )
    }
    waited, at = (packets.left_ns - packets.arrived_ns)[packets.sent], row[packets.sent]
    order = np.lexsort((waited, at))
    waited, many = waited[order], counted["packets"]
    starts, there = np.cumsum(many) - many, many > 0
    sojourns: dict[str, Any] = {}
    for name in SOJOURNS:
        ranks = np.maximum(np.ceil(SHARES[name] * many).astype(np.int64) - 1, 0)
        value = waited[np.minimum(starts + ranks, waited.size - 1)] if waited.size else np.zeros(rows, np.int64)
        sojourns[f"sojourn_{name}_ns"] = np.ma.masked_array(value, ~there)
    times, octets = _occupancy(packets)
    held = np.concatenate([[0.0], np.cumsum(octets[:-1] * np.diff(times))])
    mean = np.diff(np.interp(edges, times, held)) / step
    at_edges = np.searchsorted(times, edges[:-1], side="right") - 1
    there_before = np.where(at_edges >= 0, octets[np.maximum(at_edges, 0)], 0)
    largest = there_before.copy()
    inside = (times - begin) // step
    np.maximum.at(largest, np.clip(inside, 0, rows - 1), octets)
    return {
        "t0_ns": edges[:-1],
        "t1_ns": edges[1:],
        **counted,
        **sojourns,
        "queued_mean_bytes": mean,
        "queued_max_bytes": largest,
    }


def _rank(share: float, many: int) -> int:
    """The index of a percentile among this many sorted values: the smallest value with that share of all values at or
    below it."""
    return max(int(np.ceil(share * many)) - 1, 0)


def _occupancy(packets: Packets) -> tuple[I64, I64]:
    """The moments at which the octets in the queue change, ascending and without repetition, and the octets from each
    moment on."""
    times = np.concatenate([packets.arrived_ns, packets.left_ns])
    change = np.concatenate([packets.octets, -packets.octets])
    moments, place = np.unique(times, return_inverse=True)
    sums = np.zeros(moments.size, np.int64)
    np.add.at(sums, place, change)
    return moments, np.cumsum(sums)


def of_record(table: Mapping[str, NDArray[Any]], fates: list[str], way: int, overhead: int) -> Packets | None:
    """The packets of a direction in a box's table of packets; None where there are none. ``overhead``: (octets that the
    rate counts for a packet) − `wire_len`. Duplicates are left out, because they are made behind the bottleneck. So are
    packets that a model lost in front of it or a policer dropped, because they never waited. A packet that the queue
    did not take waited for no time."""
    crossing = np.flatnonzero((table["direction"] == way) & (table["copy"] == 0))
    crossing = crossing[np.argsort(table["number"][crossing], kind="stable")]
    exits, fate = table["t_queue_exit_ns"][crossing], table["fate"][crossing]
    sent = exits >= 0
    dropped = ~sent & np.isin(fate, [number for number, name in enumerate(fates) if name in ("queue", "aqm")])
    crossing, sent, dropped = crossing[sent | dropped], sent[sent | dropped], dropped[sent | dropped]
    if not crossing.size:
        return None
    return Packets(
        arrived_ns=table["t_arrival_ns"][crossing],
        left_ns=np.where(sent, table["t_queue_exit_ns"][crossing], table["t_drop_ns"][crossing]),
        octets=table["wire_len"][crossing].astype(np.int64) + overhead,
        sent=sent,
        marked=table["edits"][crossing] & 1 == 1,
    )
