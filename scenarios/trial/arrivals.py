"""When a flow's octets arrived at its receiver, to the packet, from the captures at both ends of the connection that
ends there. Each octet counts once, at the first packet that brought it, whether or not octets before it were missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netcommon import trial_tables
from scenarios.trial import captured
from scenarios.trial.files import read_json

I64 = NDArray[np.int64]
Series = tuple[I64, I64]  # times, and the octets that had arrived by then


def of_flow(folder: Path, end: Mapping[str, Any], *, behind_gateway: bool, alone: bool) -> Series | None:
    """Times in CLOCK_REALTIME, ns, and how many octets of a flow had arrived by then, all of its connections together.
    None where its connections are not captured at the receiver, or the capture missed some of their packets. Arguments
    as of `captured.of_flow`."""
    client = read_json(folder / "summary.json") or {}
    numbers = captured.numbers(client, end, alone=alone)
    summary, where = client, folder
    if behind_gateway:
        where = folder / captured.SERVER
        summary = read_json(where / "summary.json") or {}
        far = captured.behind_gateways(numbers, client, summary) if numbers and summary else []
        numbers = far if len(far) == len(numbers) else []
    flows = {flow.get("flow", row): flow for row, flow in enumerate(summary.get("flows") or [])}
    if not numbers or any(flows[number].get("unseen") != 0 for number in numbers):
        return None
    names = ["flow", "seq", "len", "t_received_ns"]
    table = trial_tables.read(where / "segments.parquet", names, filters=[("flow", "in", numbers)])
    flow, seq, length, t_ns = (np.asarray(table[name].to_numpy(), np.int64) for name in names)
    came = t_ns >= 0
    each = [_first(*(column[came & (flow == number)] for column in (seq, length, t_ns))) for number in numbers]
    times, octets = (np.concatenate(parts) for parts in zip(*each, strict=True))
    order = np.argsort(times, kind="stable")
    return (times[order], np.cumsum(octets[order])) if times.size else None


def _first(seq: I64, length: I64, t_ns: I64) -> Series:
    """The pieces of a connection's stream, each with the time at which it arrived for the first time, and its length.
    Copies of a segment may be cut differently, so the pieces are cut at every beginning and end."""
    borders = np.unique(np.concatenate([seq, seq + length]))
    first, last = np.searchsorted(borders, seq), np.searchsorted(borders, seq + length)
    many = last - first
    owner = np.repeat(np.arange(seq.size), many)
    piece = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many - first, many)
    came = np.full(max(borders.size - 1, 0), np.iinfo(np.int64).max)
    np.minimum.at(came, piece, t_ns[owner])
    there = came < np.iinfo(np.int64).max
    return came[there], np.diff(borders)[there]
