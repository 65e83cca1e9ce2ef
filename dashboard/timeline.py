"""One flow of one captured trial, ready to be drawn: packet columns as numpy arrays and what follows from them.

Columns are read once, only those needed, memory-mapped; derived series are computed on first use and kept with the
timeline, and timelines are kept in a small cache (`load`). Times are int64 ns from the first segment sent.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

import pktlogger
from dashboard import box, series, tunnel
from dashboard.box import Box
from dashboard.data import SERVER, Json, Run, Trial, flow_summary
from dashboard.series import I64, Series
from dashboard.tunnel import Tunnel

NEW, FAST, TIMEOUT, SPURIOUS = range(4)
KINDS = ("new data", "fast retransmission", "retransmission after time-out", "spurious retransmission (had arrived)")
CACHED_TIMELINES = 4


@dataclass(frozen=True)
class Stop:
    """A time in which nothing was sent, with pktlogger's explanation. Times in ns from the first segment."""

    t0_ns: int
    t1_ns: int
    cause: str
    text: str


@dataclass(frozen=True)
class Events:
    """Labelled causes: `kind` by name. Times in ns from the first segment."""

    t0_ns: I64
    t1_ns: I64
    kind: NDArray[np.str_]
    seq: I64
    packets: I64

    def of(self, kind: str) -> I64:
        """Row numbers of one kind."""
        return np.flatnonzero(self.kind == kind)


@dataclass(frozen=True)
class LostAcks:
    """Acknowledgements that never came, in order of time: when dropped (where nobody knows: when sent), and the fate's
    name (empty: not known)."""

    t_ns: I64
    ack: I64
    fate: NDArray[np.str_]


@dataclass(frozen=True)
class Timeline:
    """Segments in order of sending, ACKs in order of arrival at the sender. `received_ns` −1: never arrived.

    With gateways these are the client's connection as far as the near gateway, and `server` is the far gateway's, with
    the same origin and, the bytes being the same, the same sequence numbers.
    """

    title: str
    origin_ns: int
    params: Json
    summary: Json
    sent_ns: I64
    received_ns: I64
    seq: I64
    length: I64
    transmission: NDArray[np.uint16]
    kind: NDArray[np.uint8]
    ack_ns: I64
    ack: I64
    window: I64
    events: Events
    stops: tuple[Stop, ...]
    cwnd: Series
    box: Box | None = None
    lost_acks: LostAcks | None = None
    server: Timeline | None = None
    tunnel: Tunnel | None = None

    @cached_property
    def end(self) -> I64:
        """Sequence number after each segment's last byte."""
        return self.seq + self.length

    @cached_property
    def duration_ns(self) -> int:
        """From the first segment to the last thing seen."""
        last = (int(t.max()) for t in (self.sent_ns, self.received_ns, self.ack_ns) if t.size)
        return max(*last, self.server.duration_ns if self.server else 0, 0)

    @cached_property
    def sent_rows(self) -> tuple[I64, ...]:
        """Rows in order of sending, by kind (NEW … SPURIOUS)."""
        return tuple(np.flatnonzero(self.kind == kind) for kind in range(len(KINDS)))

    @cached_property
    def lost_rows(self) -> I64:
        return np.flatnonzero(self.received_ns < 0)

    @cached_property
    def arrival_rows(self) -> I64:
        """Rows of segments that arrived, in order of arrival."""
        rows = np.flatnonzero(self.received_ns >= 0)
        order: I64 = np.argsort(self.received_ns[rows], kind="stable")
        return np.asarray(rows[order], dtype=np.int64)

    @cached_property
    def box_rows(self) -> I64:
        """Rows of segments sent for the first time that left the box's bottleneck, in that order."""
        assert self.box
        rows = np.flatnonzero((self.box.exit_ns >= 0) & (self.kind == NEW))
        return np.asarray(rows[np.argsort(self.box.exit_ns[rows], kind="stable")], dtype=np.int64)

    @cached_property
    def arrived_rows(self) -> tuple[I64, ...]:
        """Rows in order of arrival, by kind (NEW … SPURIOUS)."""
        kinds = self.kind[self.arrival_rows]
        return tuple(np.asarray(self.arrival_rows[kinds == kind], dtype=np.int64) for kind in range(len(KINDS)))

    @cached_property
    def sent_times(self) -> tuple[I64, ...]:
        """Sending times of `sent_rows`."""
        return tuple(self.sent_ns[rows] for rows in self.sent_rows)

    @cached_property
    def arrived_times(self) -> tuple[I64, ...]:
        """Arrival times of `arrived_rows`."""
        return tuple(self.received_ns[rows] for rows in self.arrived_rows)

    @cached_property
    def in_flight(self) -> Series:
        return series.in_flight_bytes(self.sent_ns, self.seq, self.end, self.ack_ns, self.ack)

    @cached_property
    def rtt(self) -> Series:
        return series.rtt_ns(self.sent_ns, self.end, self.transmission, self.ack_ns, self.ack)

    @cached_property
    def window_edge(self) -> I64:
        """Highest sequence number that the receiver allows, as known at each ACK."""
        return self.ack + self.window

    @cached_property
    def sent_bytes_until(self) -> I64:
        return _running_sum(self.length)

    @cached_property
    def useful_arrivals(self) -> tuple[I64, I64]:
        """Arrival times of segments that the receiver did not have yet, and the running sum of their bytes."""
        rows = self.arrival_rows[self.kind[self.arrival_rows] != SPURIOUS]
        return self.received_ns[rows], _running_sum(self.length[rows])

    @cached_property
    def inside_gateways(self) -> Series:
        """Bytes that the near gateway has and the far one has not sent yet: highest arrived − highest sent."""
        assert self.server
        came, left = self.arrival_rows, self.server.sent_rows[NEW]
        return series.in_flight_bytes(
            self.received_ns[came], self.seq[came], self.end[came], self.server.sent_ns[left], self.server.end[left]
        )

    @cached_property
    def through_gateways(self) -> Series:
        """How long data was under way from gateway in to gateway out; a point for each segment sent there."""
        assert self.server
        came = self.arrival_rows[self.kind[self.arrival_rows] != SPURIOUS]
        return series.passage_ns(
            self.received_ns[came], self.end[came],
            self.server.sent_times[NEW], self.server.end[self.server.sent_rows[NEW]],
        )  # fmt: skip

    @property
    def stopped_share(self) -> float | None:
        """lfp-1995's s: the share of elapsed time in which sending was stopped."""
        value = self.summary.get("stopped_share")
        return None if value is None else float(value)

    def first_view_ns(self) -> tuple[int, int]:
        """What to show first: the first stop with what led to it and what followed; all when nothing stopped."""
        if not self.stops:
            return 0, max(self.duration_ns, 1)
        return self.stop_view_ns(0)

    def stop_view_ns(self, number: int) -> tuple[int, int]:
        """A stop in its context: 0.6 of its length before it (from the beginning when near) and after it."""
        stop = self.stops[number]
        margin = int(0.6 * (stop.t1_ns - stop.t0_ns))
        start = stop.t0_ns - margin
        return (0 if start < margin else start), min(stop.t1_ns + margin, self.duration_ns)


def load(run: Run, trial: Trial, flow: int | None = None) -> Timeline:
    """The timeline of one flow (default: the one with the most data); cached until the files change. Thread-safe."""
    segments = trial.path / "segments.parquet"
    chosen = (trial.flows or [0])[0] if flow is None else flow
    with _LOCK:
        return _load(run.path, trial.number, chosen, segments.stat().st_mtime_ns)


_LOCK = threading.Lock()


@lru_cache(maxsize=CACHED_TIMELINES)
def _load(run_path: Path, number: int, flow: int, _mtime_ns: int) -> Timeline:
    from dashboard.data import load_run

    run = load_run(run_path)
    trial = run.trial(number)
    timeline = _leg(trial, trial.path, trial.summary, flow, run)
    origin, other = timeline.origin_ns, pktlogger.pair_flows(trial.summary, trial.server_summary).get(flow)
    server = None if other is None else _leg(trial, trial.path / SERVER, trial.server_summary, other, None, origin)
    between = tunnel.load(trial.path, origin) if server else None
    return replace(timeline, title=f"{run.title}, trial {number}", server=server, tunnel=between)


def _leg(trial: Trial, folder: Path, summary: Json, flow: int, run: Run | None, origin: int | None = None) -> Timeline:
    """One connection, from the tables in `folder`. `origin`: default is its first segment. `run`: the connection is the
    sender's own, and the run knows how the clocks of TCP_INFO and captures belong together."""
    boxed = set(box.COLUMNS) <= set(pq.read_schema(folder / "segments.parquet").names)
    names = ("t_sent_ns", "t_received_ns", "seq", "len", "transmission", "kind", *(box.COLUMNS if boxed else ()))
    seg = _columns(folder / "segments.parquet", flow, names, "t_sent_ns")
    ack_names = ("t_sent_ns", "t_received_ns", "ack", "window", *(("box_fate", "t_box_out_ns") if boxed else ()))
    ack = _columns(folder / "acks.parquet", flow, ack_names, sort_by="t_received_ns")
    lost = int(np.searchsorted(ack["t_received_ns"], 0))  # lost ACKs carry -1 and sort first
    if origin is None:
        origin = int(seg["t_sent_ns"][0]) if seg["t_sent_ns"].size else 0
    found = flow_summary(summary, flow)
    fates = [str(name) for name in (summary.get("box") or {}).get("fates") or ()]
    none = np.zeros(0, np.int64)
    return Timeline(
        title="",
        origin_ns=origin,
        params=trial.params,
        summary=found,
        sent_ns=seg["t_sent_ns"] - origin,
        received_ns=np.where(seg["t_received_ns"] < 0, -1, seg["t_received_ns"] - origin),
        seq=seg["seq"],
        length=seg["len"],
        transmission=seg["transmission"],
        kind=seg["kind"],
        ack_ns=ack["t_received_ns"][lost:] - origin,
        ack=ack["ack"][lost:],
        window=ack["window"][lost:],
        events=_events(summary, folder / "events.parquet", flow, origin),
        stops=tuple(_stop(entry, origin) for entry in found.get("stops") or ()),
        cwnd=_cwnd(trial, run.realtime_offset_ns - origin) if run else Series(none, none),
        box=Box.of(fates, seg, origin) if boxed else None,
        lost_acks=_lost_acks({name: values[:lost] for name, values in ack.items()}, fates, origin),
    )


def _lost_acks(rows: dict[str, NDArray[Any]], fates: list[str], origin: int) -> LostAcks | None:
    if not rows["t_sent_ns"].size:
        return None
    t, known = rows["t_sent_ns"], np.full(rows["t_sent_ns"].size, len(fates))
    if "box_fate" in rows:
        t = np.where(rows["t_box_out_ns"] >= 0, rows["t_box_out_ns"], t)
        known = np.minimum(rows["box_fate"], len(fates))
    order = np.argsort(t, kind="stable")
    return LostAcks(t[order] - origin, rows["ack"][order], np.asarray([*fates, ""])[known][order])


def _columns(path: Path, flow: int, names: tuple[str, ...], sort_by: str) -> dict[str, NDArray[Any]]:
    """Named columns of one flow as numpy arrays, 64-bit ones as int64, sorted by `sort_by` when they are not yet."""
    table = pq.read_table(path, columns=["flow", *names], memory_map=True)
    own = pc.equal(table.column("flow"), flow)
    if not pc.all(own).as_py():
        table = table.filter(own)
    columns = {name: _numpy(table.column(name)) for name in names}
    key = columns[sort_by]
    if np.any(key[1:] < key[:-1]):
        order = np.argsort(key, kind="stable")
        columns = {name: values[order] for name, values in columns.items()}
    return columns


def _numpy(column: pa.ChunkedArray) -> NDArray[Any]:
    values: NDArray[Any] = column.combine_chunks().to_numpy(zero_copy_only=False)
    if values.dtype.itemsize >= 4:
        return values.view(np.int64) if values.dtype == np.uint64 else values.astype(np.int64, copy=False)
    return values


def _running_sum(values: I64) -> I64:
    total = np.zeros(values.size + 1, np.int64)
    np.cumsum(values, out=total[1:])
    return total


def _events(summary: Json, path: Path, flow: int, origin: int) -> Events:
    names = np.asarray(summary.get("event_kinds") or [""], dtype=np.str_)
    if not path.is_file():
        none = np.zeros(0, np.int64)
        return Events(none, none, names[:0], none, none)
    rows = _columns(path, flow, ("t0_ns", "t1_ns", "kind", "seq", "packets"), sort_by="t0_ns")
    known = np.minimum(rows["kind"], names.size - 1)
    return Events(rows["t0_ns"] - origin, rows["t1_ns"] - origin, names[known], rows["seq"], rows["packets"])


def _stop(entry: Json, origin: int) -> Stop:
    cause = str(entry.get("cause") or "stopped")
    return Stop(int(entry["t0_ns"]) - origin, int(entry["t1_ns"]) - origin, cause, str(entry.get("text") or cause))


def _cwnd(trial: Trial, offset_ns: int) -> Series:
    """Congestion window in bytes over time, from TCP_INFO (segments × MSS); empty without samples."""
    path = trial.path / "tcp_info.parquet"
    names = set(pq.read_schema(path).names) if path.is_file() else set()
    wanted = ["t_ns", "snd_cwnd", "snd_mss"]
    if not set(wanted) <= names:
        return Series(np.zeros(0, np.int64), np.zeros(0, np.int64))
    table = pq.read_table(path, columns=wanted, memory_map=True)
    t, cwnd, size = (_numpy(table.column(name)) for name in wanted)
    return Series(t + offset_ns, cwnd * size)
