"""A made-up capture of one collapsed transfer, by the contract of `pktlogger analyse`.

Every cycle is the syndrome of lfp-1995/fig4: slow start, overshoot beyond path and queue, a tail-drop burst, silence
until the retransmission time-out, Go-Back-N over everything after the first lost packet. Cycles repeat until the
asked number of segments is there. Vectorised inside a cycle; the loop is over cycles, never over packets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

I64 = NDArray[np.int64]

MSS_BYTES = 4312
RATE_BPS = 45_000_000
RTT_NS = 8_400_000
RTO_NS = 1_020_000_000
QUEUE_BYTES = 110_000
WINDOW_BYTES = 256 * 1024
EVENT_KINDS = ["loss_burst", "rto", "fast_retransmit", "zero_window", "receiver_window", "idle"]
NEW, FAST, TIMEOUT, SPURIOUS = range(4)
CONTROL_FLOW, MAIN_FLOW = range(2)


@dataclass
class _Parts:
    """Columns under construction: one list entry a cycle and phase."""

    segments: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    acks: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    trips: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    events: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)
    stops: list[dict[str, Any]] = field(default_factory=list)

    def add(self, table: str, **columns: NDArray[Any]) -> None:
        target: dict[str, list[NDArray[Any]]] = getattr(self, table)
        for name, values in columns.items():
            target.setdefault(name, []).append(values)


@dataclass(frozen=True)
class Capture:
    """What `pktlogger analyse` would hand over, and the transfer's length in ns."""

    segments: pa.Table
    acks: pa.Table
    events: pa.Table
    round_trips: pa.Table
    summary: dict[str, Any]
    elapsed_ns: int


def capture(
    segments: int = 1200, *, t0_ns: int = 0, cycle_segments: int = 130, burst: int = 23, window: int = WINDOW_BYTES
) -> Capture:
    """At least `segments` wire data segments, sent from `t0_ns` on (CLOCK_REALTIME ns)."""
    parts = _Parts()
    now, first, rows = t0_ns, 0, 0
    while rows < segments:
        now, first, added = _cycle(parts, now, first, cycle_segments, burst, window)
        rows += added
    return _finish(parts, t0_ns, now, window)


def _queue_exit(arrivals: I64, sizes: I64) -> I64:
    """Exit times of a FIFO of rate RATE_BPS: max(previous exit, arrival) + size/rate, as a running maximum."""
    service = sizes * 8_000_000_000 // RATE_BPS
    done = np.cumsum(service)
    return np.asarray(np.maximum.accumulate(arrivals - (done - service)) + done, dtype=np.int64)


def _slow_start_times(now: int, n: int) -> I64:
    """Sending times of n segments: rounds of 1, 2, 4 … from one RTT to the next, capped at 65 Mbit/s."""
    index = np.arange(n)
    rounds = np.floor(np.log2(index + 1)).astype(np.int64)
    gap = np.maximum(RTT_NS // (2**rounds), MSS_BYTES * 8_000_000_000 // 65_000_000)
    return np.asarray(now + 2_000_000 + np.cumsum(gap), dtype=np.int64)


def _cycle(parts: _Parts, now: int, first: int, n: int, burst: int, window: int) -> tuple[int, int, int]:
    """Append one cycle that begins at `now` with segment number `first`; gives (end time, next segment, rows)."""
    number = first + np.arange(n, dtype=np.int64)
    seq = 1 + number * MSS_BYTES
    size = np.full(n, MSS_BYTES, dtype=np.int64)
    sent = _slow_start_times(now, n)
    received = _queue_exit(sent, size) + RTT_NS // 2
    lost = np.zeros(n, dtype=bool)
    lost[n - 2 * burst :: 2] = True  # every second one of the last packets meets a full queue
    first_lost = n - 2 * burst
    _add_segments(parts, seq, sent, np.where(lost, -1, received), NEW, 1)
    in_order = seq[1:first_lost:2] + MSS_BYTES  # a delayed ACK every second segment
    _add_acks(parts, in_order, received[1:first_lost:2], window)
    _add_trips(parts, sent[1:first_lost:2], received[1:first_lost:2], after_repairs=first > 0)
    stuck = received[first_lost:][~lost[first_lost:]]
    _add_acks(parts, np.full(stuck.size, seq[first_lost]), stuck, window)

    timeout = int(sent[-1]) + RTO_NS
    parts.events.append((int(sent[first_lost]), int(sent[-1]), 0, int(seq[first_lost]), burst * MSS_BYTES, burst))
    parts.events.append((int(sent[-1]), timeout, 1, int(seq[first_lost]), 0, 0))
    packets = f"{burst} packets ({burst * MSS_BYTES:,} bytes)"
    text = f"retransmission time-out {RTO_NS / 1e9:.2f} s after a tail-drop burst of {packets}"
    parts.stops.append({
        "t0_ns": int(sent[-1]), "t1_ns": timeout, "cause": "rto_after_tail_drop", "text": text, "lost_packets": burst,
        "lost_bytes": burst * MSS_BYTES, "outage_packets": 0, "waited_ns": RTO_NS, "outstanding_bytes": 0,
        "full_queue": True, "probe": False,
    })  # fmt: skip
    end, extra = _go_back_n(parts, seq[first_lost:], lost[first_lost:], timeout, window)
    return end, first + n, n + extra


def _go_back_n(parts: _Parts, seq: I64, lost: NDArray[np.bool_], timeout: int, window: int) -> tuple[int, int]:
    """Send everything after the first lost packet again; gives (time when all is acknowledged, rows)."""
    again = _slow_start_times(timeout - 2_000_000, seq.size)
    back = _queue_exit(again, np.full(seq.size, MSS_BYTES, dtype=np.int64)) + RTT_NS // 2
    for kind, rows in ((TIMEOUT, lost), (SPURIOUS, ~lost)):
        _add_segments(parts, seq[rows], again[rows], back[rows], kind, 2)
    holes = np.append(seq[lost], seq[-1] + MSS_BYTES)
    _add_acks(parts, holes[np.searchsorted(holes, seq, side="right")], back, window)
    return int(back[-1]) + RTT_NS // 2, seq.size


def _add_segments(parts: _Parts, seq: I64, sent: I64, received: I64, kind: int, transmission: int) -> None:
    n = seq.size
    parts.add(
        "segments",
        seq=seq.astype(np.uint64),
        len=np.full(n, MSS_BYTES, np.uint32),
        t_sent_ns=sent,
        t_received_ns=received,
        transmission=np.full(n, transmission, np.uint16),
        kind=np.full(n, kind, np.uint8),
    )


def _add_acks(parts: _Parts, ack: I64, sent: I64, window: int) -> None:
    parts.add(
        "acks",
        ack=ack.astype(np.uint64),
        t_sent_ns=sent,
        t_received_ns=sent + RTT_NS // 2,
        window=np.full(ack.size, window, np.uint32),
    )


def _add_trips(parts: _Parts, sent: I64, received: I64, *, after_repairs: bool) -> None:
    back = received + RTT_NS // 2
    gap = np.zeros(sent.size, np.uint8)
    gap[:1] = after_repairs
    parts.add("trips", t_ns=back, rtt_ns=back - sent, gap=gap)


def _finish(parts: _Parts, t0: int, end: int, window: int) -> Capture:
    seg = {name: np.concatenate(values) for name, values in parts.segments.items()}
    order = np.argsort(seg["t_sent_ns"], kind="stable")
    seg = {name: values[order] for name, values in seg.items()}
    n = order.size
    received = seg["t_received_ns"]
    seg["delay_ns"] = np.where(received < 0, -1, received - seg["t_sent_ns"])
    seg["sender_frame"] = np.arange(1, n + 1, dtype=np.uint64)
    seg["receiver_frame"] = np.where(received < 0, 0, np.cumsum(received >= 0)).astype(np.uint64)
    acks = {name: np.concatenate(values) for name, values in parts.acks.items()}
    columns = list(zip(*parts.events, strict=True))
    names = ("t0_ns", "t1_ns", "kind", "seq", "bytes", "packets")
    types = (np.int64, np.int64, np.uint8, np.uint64, np.uint64, np.uint32)
    events = {name: np.asarray(v, dtype=t) for name, v, t in zip(names, columns, types, strict=True)}
    return Capture(
        segments=_with_control(_table(seg)),
        acks=_table(acks),
        events=_table(events),
        round_trips=_table({name: np.concatenate(values) for name, values in parts.trips.items()}),
        summary=_summary(parts, seg, t0, end, window),
        elapsed_ns=end - t0,
    )


def _summary(parts: _Parts, seg: dict[str, NDArray[Any]], t0: int, end: int, window: int) -> dict[str, Any]:
    stopped = sum(stop["t1_ns"] - stop["t0_ns"] for stop in parts.stops)
    flow = {
        "flow": MAIN_FLOW,
        "sender": {"address": "10.0.0.1", "port": 40001},
        "receiver": {"address": "10.0.3.1", "port": 50000},
        "bytes": int(np.unique(seg["seq"]).size) * MSS_BYTES,
        "elapsed_ns": end - t0,
        "retransmitted": int((seg["transmission"] > 1).sum()),
        "lost": int((seg["t_received_ns"] < 0).sum()),
        "spurious": int((seg["kind"] == SPURIOUS).sum()),
        "min_rtt_ns": RTT_NS,
        "max_rtt_ns": RTT_NS + QUEUE_BYTES * 8_000_000_000 // RATE_BPS,
        "max_unacknowledged_bytes": window,
        "stops": parts.stops,
        "stopped_share": stopped / (end - t0),
    }
    control = {
        "flow": CONTROL_FLOW,
        "sender": {"address": "10.0.0.1", "port": 40000},
        "receiver": {"address": "10.0.3.1", "port": 5010},
        "bytes": 48,
        "stops": [],
        "stopped_share": 0.99,
    }
    return {"v": 1, "event_kinds": EVENT_KINDS, "main_flow": MAIN_FLOW, "flows": [control, flow]}


def _table(columns: dict[str, NDArray[Any]]) -> pa.Table:
    rows = next(iter(columns.values())).size
    return pa.table({"flow": np.full(rows, MAIN_FLOW, np.uint32), **columns})


def _with_control(segments: pa.Table) -> pa.Table:
    """One segment of the control connection in front, as real captures have it."""
    first = {name: segments.column(name)[0].as_py() for name in segments.column_names}
    first |= {"flow": CONTROL_FLOW, "len": 48, "t_sent_ns": first["t_sent_ns"] - 10_000_000}
    return pa.concat_tables([pa.Table.from_pylist([first], schema=segments.schema), segments])
