"""How evenly the streams of one transfer share it, and how evenly the flows of a trial share the path: Jain's index.

A stream's goodput is its octets over the time from the transfer's beginning to its own last octet. So streams with
equal amounts differ by their times, and streams with equal times by their amounts. Rejected: the time from its own
first octet, because a stream whose first packets were lost would not seem slower.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def jain(shares: Sequence[float]) -> float:
    """Jain's fairness index: 1 when all shares are equal, 1/n when one has everything; 0 when there is nothing."""
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 0.0


def of_streams(receiver: Mapping[str, Any]) -> dict[str, Any]:
    """``stream_min_bps``, ``stream_max_bps`` and ``stream_jain`` of a receiver's account; empty with one stream."""
    rates = [_bps(stream) for stream in receiver.get("streams") or []]
    if len(rates) < 2:
        return {}
    return {"stream_min_bps": min(rates), "stream_max_bps": max(rates), "stream_jain": jain(rates)}


def of_flows(rates: Sequence[float | None]) -> list[dict[str, Any]]:
    """``flows_bps``, ``flow_share`` and ``flow_jain`` of each flow of a trial; empty where there is one flow, or where
    a flow has no rate."""
    known = [rate for rate in rates if rate is not None]
    if len(rates) < 2 or len(known) < len(rates) or not sum(known):
        return [{} for _ in rates]
    total, index = sum(known), jain(known)
    return [{"flows_bps": total, "flow_share": rate / total, "flow_jain": index} for rate in known]


def _bps(stream: Mapping[str, Any]) -> float:
    return float(stream["bytes"] * 8 * 10**9 / stream["last_byte_ns"]) if stream.get("last_byte_ns") else 0.0
