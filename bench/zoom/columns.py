"""A run with one captured trial of any number of segments, in the format of a real one (pktlogger/FORMAT.md).

One steady transfer at 2 Gbit/s and 20 ms: evenly spaced segments, a queue that fills and drains twice a second, an ACK
for every second segment, one segment in a thousand lost and sent again a round trip later. Nothing stops, so the first
view is the whole transfer, which costs most. Rejected: a capture from virtual time, which takes minutes for each
million segments and says no more about the dashboard.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
from numpy.typing import NDArray

MSS, WIRE_BYTES = 1448, 1538
RATE_BPS, RTT_NS, QUEUE_NS = 2_000_000_000, 20_000_000, 10_000_000
LOST_EACH = 1000
START_NS = 1_760_000_000_000_000_000
_FAST = 1  # kind of a fast retransmission
_EVENTS = {"t0_ns": "i8", "t1_ns": "i8", "kind": "u1", "seq": "u8", "bytes": "u8", "packets": "u4"}  # there are none
Columns = dict[str, NDArray[Any]]


def write(parent: Path, segments: int) -> Path:
    """Writes the run into `parent` and returns its directory. `segments`: those sent for the first time."""
    run = parent / "zoom-20251009T085320-000000"
    trial = run / "trials" / "0000"
    trial.mkdir(parents=True)
    sent = _segments(segments)
    _table(trial / "segments.parquet", sent)
    _table(trial / "acks.parquet", _acks(sent))
    _table(trial / "round_trips.parquet", _round_trips(sent))
    _table(trial / "events.parquet", {name: np.zeros(0, kind) for name, kind in _EVENTS.items()})
    parquet.write_table(pa.table(_samples(segments)), trial / "tcp_info.parquet")
    for name, value in _texts(segments, sent).items():
        (run / name).write_text(json.dumps(value))
    return run


def _segments(count: int) -> Columns:
    """The rows of segments.parquet in order of sending, retransmissions among them."""
    gap = WIRE_BYTES * 8e9 / RATE_BPS
    number = np.arange(count, dtype=np.int64)
    t = (number * gap).astype(np.int64)
    lost = number % LOST_EACH == LOST_EACH // 2
    again = np.flatnonzero(lost)
    rows = np.concatenate([number, again])
    t_sent = np.concatenate([t, t[again] + RTT_NS + QUEUE_NS])
    first = np.arange(rows.size) < count
    arrived = t_sent + RTT_NS // 2 + _queue_ns(t_sent)
    order = np.argsort(t_sent, kind="stable")
    columns: Columns = {
        "seq": (1 + rows * MSS).astype(np.uint64),
        "len": np.full(rows.size, MSS, np.uint32),
        "t_sent_ns": START_NS + t_sent,
        "t_received_ns": np.where(first & lost[rows], -1, START_NS + arrived),
        "transmission": np.where(first, 1, 2).astype(np.uint16),
        "kind": np.where(first, 0, _FAST).astype(np.uint8),
    }
    return {name: values[order] for name, values in columns.items()}


def _queue_ns(t: NDArray[np.int64]) -> NDArray[np.int64]:
    """The delay of a queue that fills in half a second and then drains."""
    return np.asarray(t % 500_000_000 * QUEUE_NS // 500_000_000, np.int64)


def _acks(sent: Columns) -> Columns:
    """An ACK for every second segment that arrived."""
    arrived = np.flatnonzero(sent["t_received_ns"] >= 0)
    arrived = arrived[np.argsort(sent["t_received_ns"][arrived], kind="stable")][::2]
    t = sent["t_received_ns"][arrived]
    ack = np.maximum.accumulate(sent["seq"][arrived] + MSS).astype(np.uint64)
    window = np.full(t.size, 32 << 20, np.uint32)
    return {"ack": ack, "t_sent_ns": t, "t_received_ns": t + RTT_NS // 2, "window": window}


def _round_trips(sent: Columns) -> Columns:
    """A sample for every second segment that arrived at its first sending, with a gap behind each repair."""
    rows = np.flatnonzero((sent["t_received_ns"] >= 0) & (sent["transmission"] == 1))[::2]
    back = sent["t_received_ns"][rows] + RTT_NS // 2
    gap = np.diff(sent["seq"][rows], prepend=sent["seq"][rows][:1]) > 2 * MSS
    trips: Columns = {"t_ns": back, "rtt_ns": back - sent["t_sent_ns"][rows], "gap": gap.astype(np.uint8)}
    order = np.argsort(back, kind="stable")
    return {name: values[order] for name, values in trips.items()}


def _samples(count: int) -> Columns:
    """TCP_INFO every 10 ms: a congestion window that follows the queue. Times are CLOCK_MONOTONIC, which began at 0."""
    t = np.arange(0, int(count * WIRE_BYTES * 8e9 / RATE_BPS), 10_000_000, dtype=np.int64)
    cwnd = (RATE_BPS * (RTT_NS + _queue_ns(t)) / 8e9 / MSS).astype(np.uint32)
    constant = {"snd_ssthresh": 3000, "snd_mss": MSS, "ca_state": 0}
    columns: Columns = {name: np.full(t.size, value, "u4") for name, value in constant.items()}
    return columns | {"t_ns": t, "snd_cwnd": cwnd}


def _texts(count: int, sent: Columns) -> dict[str, Any]:
    """The run's JSON files by their paths."""
    ends = {"sender": {"address": "10.0.0.1", "port": 40001}, "receiver": {"address": "10.0.3.1", "port": 5001}}
    lost = int((sent["t_received_ns"] < 0).sum())
    counted = {"bytes": count * MSS, "lost": lost, "retransmitted": lost}
    flow = {"flow": 0, **ends, **counted, "stops": [], "stopped_share": 0.0}
    verdict = {"valid": True, "reasons": []}
    about = {"name": "zoom", "title": f"{count} segments at 2 Gbit/s and 20 ms"}
    return {
        "manifest.json": {"v": 1, "name": "zoom", "scenario": {"scenario": about}, "state": "done", "plan": 1,
                          "started_realtime_ns": START_NS, "verdict": verdict},
        "trials/0000/params.json": {"trial": 0, "repeat": 0, "rate_bps": RATE_BPS, "rtt_ns": RTT_NS, "mtu": 1500,
                                    "delay_ns": RTT_NS // 2, "profile": "modern", "gateway": "none"},
        "trials/0000/status.json": {"state": "done", "verdict": verdict,
                                    "clock": {"monotonic_ns": 0, "realtime_ns": START_NS}},
        "trials/0000/summary.json": {"v": 1, "event_kinds": ["rto"], "main_flow": 0, "flows": [flow]},
    }  # fmt: skip


def _table(path: Path, columns: Columns) -> None:
    rows = next(iter(columns.values())).size
    parquet.write_table(pa.table({"flow": np.zeros(rows, np.uint32), **columns}), path)
