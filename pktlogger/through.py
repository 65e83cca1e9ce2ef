"""What happened inside a pair of gateways, or a relay, between its two captures: how long each byte stayed there, and
what limited the transfer as a whole.

A relay ends the client's connection and opens one of its own. Both carry the same bytes, so an offset in the stream is
the same in both (`pair_flows` says which connections belong together). `near` is the analysis of the captures at the
sender and at the relay's near interface, `far` that of the captures at the relay's far interface and at the receiver.
FORMAT.md, section 11, has the columns and the rules.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pktlogger.columns import Analysis
from pktlogger.pairs import pair_flows

I64 = npt.NDArray[np.int64]
GATEWAY = "gateway"
_WAITS = ("receiver_window", "zero_window")  # limits of the near connection that the gateway, its receiver, causes
_ANSWERS = ("application",)  # limits of the near connection that may be its program's waits for answers
_SENDERS = ("application", "send_buffer", "pacing")  # limits of the far connection that the gateway, its sender, causes
_SHARES = {"min": 0, "p50": 50, "p95": 95, "max": 100}
_UNSEEN_BASE = 2**32  # numbers of a connection whose SYN was not captured begin here


class Through(NamedTuple):
    """`passes`: a row for each segment that left for the first time; `limits`: what limited the whole transfer;
    `flows`: results for each pair of connections; `limit_causes`: names of the numbers in `limits`."""

    passes: pa.Table
    limits: pa.Table
    flows: list[dict[str, Any]]
    limit_causes: list[str]


def through(near: Analysis, far: Analysis) -> Through:
    """Joins the two analyses. A pair of connections is left out if one of its SYNs is missing, because its offsets are
    then not comparable."""
    names = [*near.summary.get("limit_causes", ()), GATEWAY]  # earlier versions of `analyse` wrote no limits
    passes, limits, flows = [], [], []
    for client, server in sorted(pair_flows(near.summary, far.summary).items()):
        arrived, left = _arrivals(near, client), _departures(far, server)
        if arrived[0].size == 0 or left[0].size == 0 or max(arrived[0][0], left[0][0]) >= _UNSEEN_BASE:
            continue
        passed = _passes(arrived, left, client)
        limited, verdict_ns = _limits(near, far, client, server, names, _answered(near, client, arrived, left))
        passes.append(passed)
        limits.append(limited)
        flows.append(_figures(passed, limited, arrived, left, client, server, names) | {"verdict_ns": verdict_ns})
    return Through(
        pa.concat_tables(passes) if passes else pa.table({}),
        pa.concat_tables(limits) if limits else pa.table({}),
        flows,
        names,
    )


def spread(values: npt.ArrayLike) -> dict[str, int] | None:
    """Smallest, median, 95th percentile and largest value; None if there are none."""
    array = np.asarray(values)
    return {name: int(np.percentile(array, share)) for name, share in _SHARES.items()} if array.size else None


def _rows(table: pa.Table, flow: int, *names: str) -> list[I64]:
    if not table.num_columns:
        return [np.empty(0, np.int64) for _ in names]
    here = table["flow"].to_numpy() == flow
    return [np.asarray(table[name].to_numpy()[here], dtype=np.int64) for name in names]


def _arrivals(near: Analysis, flow: int) -> tuple[I64, I64]:
    """Offsets in the stream, and when the gateway had all bytes up to each; both ascend. Copies of a segment may have
    other borders than the segment, so the stream is divided at every border, and each part has the time of the first
    copy that brought it.
    """
    seq, length, received_ns = _rows(near.segments, flow, "seq", "len", "t_received_ns")
    came = (received_ns >= 0) & (length > 0)
    seq, end, received_ns = seq[came], (seq + length)[came], received_ns[came]
    borders = np.unique(np.concatenate([seq, end]))
    first, stop = np.searchsorted(borders, seq), np.searchsorted(borders, end)
    parts = stop - first  # of each segment
    part = np.repeat(first - np.cumsum(parts) + parts, parts) + np.arange(parts.sum())
    there_ns = np.full(max(borders.size - 1, 0), np.iinfo(np.int64).max)
    np.minimum.at(there_ns, part, np.repeat(received_ns, parts))
    brought = there_ns < np.iinfo(np.int64).max  # bytes that the capture missed have no time
    return borders[1:][brought], np.maximum.accumulate(there_ns[brought])


def _departures(far: Analysis, flow: int) -> tuple[I64, I64, I64]:
    """First byte, length and time of the segments that left for the first time, in stream order."""
    seq, length, sent_ns, number = _rows(far.segments, flow, "seq", "len", "t_sent_ns", "transmission")
    new = np.flatnonzero(number == 1)
    new = new[np.argsort(seq[new], kind="stable")]
    return seq[new], length[new], sent_ns[new]


def _passes(arrived: tuple[I64, I64], left: tuple[I64, I64, I64], flow: int) -> pa.Table:
    ends, there_ns = arrived
    seq, length, sent_ns = left
    at = np.searchsorted(ends, seq + length, "left")
    known = at < ends.size
    seq, length, sent_ns, in_ns = seq[known], length[known], sent_ns[known], there_ns[at[known]]
    held = ends[np.maximum(np.searchsorted(there_ns, sent_ns, "right") - 1, 0)] - (seq + length)
    return pa.table(
        {
            "flow": np.full(seq.size, flow, np.uint32),
            "seq": seq.astype(np.uint64),
            "len": length.astype(np.uint32),
            "t_in_ns": in_ns,
            "t_out_ns": sent_ns,
            "dwell_ns": sent_ns - in_ns,
            "held_bytes": np.maximum(held, 0).astype(np.uint64),
        }
    )


def _answered(near: Analysis, flow: int, arrived: tuple[I64, I64], left: tuple[I64, I64, I64]) -> tuple[I64, I64]:
    """The times in which the gateways held the end of a message that the peer later answered: from its arrival until it
    had left. An answer is data of the peer that acknowledge the message and arrive before the sender sends again.
    """
    seq, length, sent_ns = _rows(near.segments, flow, "seq", "len", "t_sent_ns")
    ack, came_ns = _with_data(near, flow)
    seen = sent_ns >= 0
    order = np.argsort(sent_ns[seen], kind="stable")
    end, sent_ns = np.maximum.accumulate((seq + length)[seen][order]), sent_ns[seen][order]
    last = np.flatnonzero(np.diff(sent_ns))  # the last of the segments sent at the same time
    end, again_ns = end[last], sent_ns[last + 1]
    left_ends, left_ns = left[0] + left[1], np.maximum.accumulate(left[2])
    there, gone = (np.searchsorted(places, end) for places in (arrived[0], left_ends))
    newest = np.searchsorted(came_ns, again_ns, "right") - 1  # the answer, or data of an earlier one
    at = np.flatnonzero((there < arrived[0].size) & (gone < left_ends.size) & (newest >= 0))
    at = at[ack[newest[at]] >= end[at]]
    in_ns, out_ns, answer_ns = arrived[1][there[at]], left_ns[gone[at]], came_ns[newest[at]]
    held = (in_ns < out_ns) & (out_ns < answer_ns)
    return in_ns[held], out_ns[held]


def _with_data(near: Analysis, flow: int) -> tuple[I64, I64]:
    """The acknowledgements that came with data of the peer, in order of arrival: acknowledged offset, and time. Tables
    by earlier versions do not say which acknowledgements had data; there an acknowledgement that acknowledged nothing
    new is assumed to have had data.
    """
    has_len = near.acks.num_columns and "len" in near.acks.column_names
    ack, came_ns, length = _rows(near.acks, flow, "ack", "t_received_ns", "len" if has_len else "ack")
    turn = np.argsort(came_ns, kind="stable")
    turn = turn[came_ns[turn] >= 0]
    upto, came_ns = np.maximum.accumulate(ack[turn]), came_ns[turn]
    with_data = length[turn] > 0 if has_len else np.diff(upto, prepend=-1) == 0
    return upto[with_data], came_ns[with_data]


def _limits(
    near: Analysis, far: Analysis, client: int, server: int, names: list[str], answered: tuple[I64, I64]
) -> tuple[pa.Table, dict[str, int]]:
    """What limited the whole transfer, and how long each limit lasted, under the names that the connections' verdicts
    use. Normally the limits of the near connection count. While it waits for the gateway's window, or for an answer to
    data that the gateways hold, and after its end, the limits of the far connection count. If the far connection is
    limited by its sender, which is the gateway, or does not exist, the limit is `gateway`.
    """
    near_limits, far_limits = (
        _rows(side.limits, flow, "t0_ns", "t1_ns", "cause") for side, flow in ((near, client), (far, server))
    )
    (sent_ns,) = _rows(near.segments, client, "t_sent_ns")  # used if the limits cover no time
    began_ns = (near_limits[0] if near_limits[0].size else sent_ns)[:1]
    borders = np.unique(np.concatenate([began_ns, *near_limits[:2], *far_limits[:2], *answered]))
    borders = borders[borders >= began_ns[0]] if began_ns.size else borders[:0]
    borders = borders if borders.size > 1 else borders[:0]  # no time passed
    start = borders[:-1]
    causes, beyond = _cause_at(start, *near_limits), _cause_at(start, *far_limits)
    gateway = names.index(GATEWAY)
    beyond[(beyond < 0) | np.isin(beyond, _numbers(names, _SENDERS))] = gateway
    waits = (causes < 0) | np.isin(causes, _numbers(names, _WAITS))
    waits |= np.isin(causes, _numbers(names, _ANSWERS)) & (_cause_at(start, *answered, np.zeros_like(answered[0])) >= 0)
    causes = np.where(waits, beyond, causes)
    verdict_ns: Counter[str] = Counter()
    for side, flow, here in ((near, client, ~waits), (far, server, waits)):
        limits_as = side.summary["flows"][flow].get("limits_as") or {}  # earlier versions of `analyse` wrote none
        for cause in np.unique(causes[here]).tolist():
            lasted_ns = int(np.diff(borders)[here & (causes == cause)].sum())
            verdict_ns[limits_as.get(names[cause], names[cause])] += lasted_ns
    new = np.ones(start.size, bool)
    new[1:] = causes[1:] != causes[:-1]
    stops = np.append(start[new][1:], borders[-1:])
    return pa.table(
        {
            "flow": np.full(stops.size, client, np.uint32),
            "t0_ns": start[new],
            "t1_ns": stops,
            "cause": causes[new].astype(np.uint8),
        }
    ), dict(verdict_ns)


def _numbers(names: list[str], wanted: tuple[str, ...]) -> list[int]:
    return [names.index(name) for name in wanted if name in names]


def _cause_at(times: I64, begin: I64, end: I64, cause: I64) -> I64:
    """What limited a connection at each of the times; -1 before its first data packet and from its last one on."""
    if not begin.size:
        return np.full(times.size, -1, np.int64)
    place = np.maximum(np.searchsorted(begin, times, "right") - 1, 0)
    return np.where((begin[place] <= times) & (times < end[place]), cause[place], -1)


def _figures(
    passed: pa.Table,
    limited: pa.Table,
    arrived: tuple[I64, I64],
    left: tuple[I64, I64, I64],
    client: int,
    server: int,
    names: list[str],
) -> dict[str, Any]:
    dwell, spans = passed["dwell_ns"].to_numpy(), limited["t1_ns"].to_numpy() - limited["t0_ns"].to_numpy()
    causes = limited["cause"].to_numpy()
    left_end = int((left[0] + left[1]).max())
    return {
        "flow": client,
        "far_flow": server,
        "dwell_ns": spread(dwell),
        "held_bytes_max": int(passed["held_bytes"].to_numpy().max()) if dwell.size else 0,
        "never_left_bytes": max(int(arrived[0][-1]) - left_end, 0),
        "limits_ns": {names[cause]: int(spans[causes == cause].sum()) for cause in np.unique(causes)},
    }
