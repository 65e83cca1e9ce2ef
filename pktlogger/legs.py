"""One transfer from point to point: what each leg and each gateway did to it.

A leg is a TCP connection with a capture at either end, so it has an analysis. Between two legs is a gateway that ends
the first connection and begins the second one. `legs` combines the results of `analyse` and `through`. FORMAT.md,
section 12, has the fields.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pktlogger.clocks import on_one_clock
from pktlogger.columns import Analysis
from pktlogger.through import Through, spread, through

UNSEEN = 255  # box_fate of a part that the box's record lacks


def legs(analyses: Sequence[Analysis], flow: int | None = None) -> dict[str, Any]:
    """The results for connection `flow` of the first leg (default: the connection with the most data), on the clock of
    the first sender's capture. ValueError when a gateway has no connection that belongs to it."""
    analyses = on_one_clock(analyses)
    first = analyses[0].summary
    flow = first["main_flow"] if flow is None else flow
    flows, joined = [flow], list[Through]()
    for near, far in pairwise(analyses):
        joined.append(through(near, far))
        pair = next((one for one in joined[-1].flows if one["flow"] == flows[-1]), None)
        if pair is None:
            raise ValueError(f"leg {len(flows) + 1} has no connection that carries the bytes of leg {len(flows)}")
        flows.append(pair["far_flow"])
    flow_summary = first["flows"][flow]
    begin_ns = pc.min(_of(analyses[0].segments, flow)["t_sent_ns"]).as_py()
    return {
        "v": 1,
        "sender": flow_summary["sender"],
        "receiver": flow_summary["receiver"],
        "bytes": flow_summary["bytes"],
        "elapsed_ns": pc.max(_of(analyses[-1].segments, flows[-1])["t_received_ns"]).as_py() - begin_ns,
        "legs": [_leg(one, number) for one, number in zip(analyses, flows, strict=True)],
        "gateways": [_gateway(one, number) for one, number in zip(joined, flows, strict=False)],
        "delay_ns": _whole_delay(analyses, flows),
        "limits_ns": _limits(analyses, joined, flow),
    }


def tunnel(record: pa.Table, around: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """What a delay box between two gateways did to packets towards the receiver. ``record`` is the box's record
    (`read_record` or box.parquet). A tunnel's packets are encrypted, so they belong to no leg. ``around``: pairs of
    addresses of hosts whose TCP connections bypass the gateways."""
    fates = json.loads(record.schema.metadata[b"pktlogger.record"])["fates"]
    flows = json.loads(record.schema.metadata.get(b"pktlogger.flows", b'{"flows":[]}'))["flows"]
    hosts = {frozenset(pair) for pair in around}
    others = [n for n, flow in enumerate(flows) if frozenset(side["address"] for side in flow["sides"]) in hosts]
    inside = pc.invert(pc.is_in(record["flow"], pa.array(others, record["flow"].type)))
    own = record.filter(pc.and_(pc.equal(record["direction"], 0), inside))
    fate, came_ns, left_ns = (own[name].to_numpy() for name in ("fate", "t_arrival_ns", "t_release_ns"))
    gone = [fates[one] for one in np.unique(fate) if fates[one] not in ("sent", "held")]
    lost = {name: int((fate == fates.index(name)).sum()) for name in gone}
    return {"packets": own.num_rows, "lost": lost, "dwell_ns": spread((left_ns - came_ns)[left_ns >= 0])}


def _of(table: pa.Table, flow: int) -> pa.Table:
    return table.filter(pc.equal(table["flow"], flow)) if table.num_columns else table


def _leg(analysis: Analysis, flow: int) -> dict[str, Any]:
    flow_summary, segments = analysis.summary["flows"][flow], _of(analysis.segments, flow)
    sent_ns, received_ns = (segments[name].to_numpy() for name in ("t_sent_ns", "t_received_ns"))
    came, captures = received_ns >= 0, analysis.summary.get("captures", {})
    return {
        "cut": [end for end in ("sender", "receiver") if (captures.get(end) or {}).get("truncated")],
        "packets": segments.num_rows,
        "sent_again": flow_summary["retransmitted"],
        "lost": flow_summary["lost"],
        "missed_by_capture": flow_summary.get("unseen", 0),
        "delay_ns": spread((received_ns - sent_ns)[came]),
        "losses": _losses(analysis, segments, flow),
        "ruled_out": analysis.summary.get("ruled_out", []),
        "box": _box(analysis, segments),
        "verdict": (flow_summary.get("verdict") or {}).get("text"),
    }


def _box(analysis: Analysis, segments: pa.Table) -> dict[str, Any] | None:
    """How long the parts that arrived took to reach the box, inside the box, and from the box to the receiver. Times in
    the box are limited to the time between sending and arrival, because a box may date an arrival back by up to its
    polling interval. If the times of most parts are out of order, the record is on another clock, and ``before_ns`` and
    ``behind_ns`` are None.
    """
    if "box_fate" not in segments.column_names:
        return None
    names = ("t_sent_ns", "t_box_in_ns", "t_box_out_ns", "t_received_ns")
    times = np.stack([segments[name].to_numpy() for name in names])
    times = times[:, (times >= 0).all(axis=0)]
    if times.shape[1] and (np.median(np.diff(times, axis=0), axis=1) < 0).any():
        return {"before_ns": None, "dwell_ns": spread(times[2] - times[1]), "behind_ns": None}
    times[1:3] = np.clip(times[1:3], times[0], times[3])
    return dict(zip(("before_ns", "dwell_ns", "behind_ns"), map(spread, np.diff(times, axis=0)), strict=True))


def _losses(analysis: Analysis, segments: pa.Table, flow: int) -> list[dict[str, Any]]:
    """How many packets were lost, where and why; where is None without a box's record."""
    lost, causes = _of(analysis.losses, flow), analysis.summary.get("loss_causes", [])
    fates = (analysis.summary.get("box") or {}).get("fates")
    if not lost.num_rows:
        return []
    place: pa.ChunkedArray | pa.Array = pa.nulls(lost.num_rows, pa.uint8())
    if fates and "box_fate" in segments.column_names:
        keys = ["seq", "len", "t_sent_ns"]
        lost = lost.join(segments.select([*keys, "box_fate"]), keys, join_type="left outer")
        place = lost["box_fate"]
    counts = pa.table({"cause": lost["cause"], "fate": place}).group_by(["cause", "fate"])
    rows = sorted(counts.aggregate([([], "count_all")]).to_pylist(), key=lambda row: -row["count_all"])
    return [
        {"cause": causes[row["cause"]], "place": _place(row["fate"], fates), "packets": row["count_all"]}
        for row in rows
        if causes[row["cause"]] != "capture_loss"
    ]


def _place(fate: int | None, fates: Sequence[str] | None) -> str | None:
    if fate is None or not fates:
        return None
    return "before the box" if fate == UNSEEN else "behind the box" if fates[fate] == "sent" else "in the box"


def _gateway(joined: Through, flow: int) -> dict[str, Any]:
    (joined_flow,) = (one for one in joined.flows if one["flow"] == flow)
    return {name: joined_flow[name] for name in ("dwell_ns", "held_bytes_max", "never_left_bytes")}


def _whole_delay(analyses: Sequence[Analysis], flows: Sequence[int]) -> dict[str, int] | None:
    """The time from the first sending of the last byte of each segment of the last leg to that segment's first
    arrival."""
    client, server = _of(analyses[0].segments, flows[0]), _of(analyses[-1].segments, flows[-1])
    new = client.filter(pc.equal(client["transmission"], 1)).sort_by("seq")
    ends = np.maximum.accumulate(new["seq"].to_numpy() + new["len"].to_numpy())
    came = server.filter(pc.greater_equal(server["t_received_ns"], 0))
    came = came.group_by(["seq", "len"]).aggregate([("t_received_ns", "min")])
    at = np.searchsorted(ends, came["seq"].to_numpy() + came["len"].to_numpy(), "left")
    known = at < ends.size
    return spread(came["t_received_ns_min"].to_numpy()[known] - new["t_sent_ns"].to_numpy()[at[known]])


def _limits(analyses: Sequence[Analysis], joined: Sequence[Through], flow: int) -> dict[str, int] | None:
    """What limited the whole transfer. None with several gateways, because waits for the connections between them are
    not analysed.
    """
    if not joined:
        limits: dict[str, int] | None = analyses[0].summary["flows"][flow].get("limits_ns")
        return limits
    return next(one["limits_ns"] for one in joined[0].flows if one["flow"] == flow) if len(joined) == 1 else None
