"""One flow of one captured trial, ready to be drawn: its packets, its stops, and its slowest spans.

`load` reads only the columns that are needed, once, and keeps timelines in a small cache. Those of a long transfer are
memory-mapped from files that `prepare` makes once: its arrays would not fit into the server's memory. Times are int64
ns from the first segment sent.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import pktlogger
from dashboard.core.runs import REVERSE, SERVER, Json, Run, Trial, behind_gateway, flow_summary, load_run, read_json
from dashboard.core.series import NO_SERIES, Series
from dashboard.timeline import apart, box, happened, kept_files, limits, one_end, slow, tunnel
from dashboard.timeline.box import Box
from dashboard.timeline.flow import CE, Events, Flow, LostAcks, Stop
from dashboard.timeline.happened import Happened
from dashboard.timeline.messages import ENGLISH, stop_said
from dashboard.timeline.store import DONE, Store, kept
from netcommon import trial_tables

CACHED_TIMELINES = 4
STORED_FROM = 4_000_000  # segments; fewer take less than 1 GB, and a second or two to read
STORED_AS = 7  # format of the kept arrays; changes when they change
BASE = ("sent_ns", "received_ns", "seq", "length", "transmission", "kind", "ack_ns", "ack", "window",
        "marked_rows", "trip_ns", "trip_rtt_ns", "trip_gap")  # fmt: skip
SLOW = "slow"
TRIPS = "round_trips.parquet"
WHOLE_LIMITS, THROUGH = "whole-limits.parquet", "through.json"  # tables about both connections that gateways join


@dataclass(frozen=True)
class Timeline(Flow):
    """A flow with the stops and slow spans to which the page leads a reader. `server`: as in `Flow`."""

    server: Timeline | None = None

    @kept
    def slowest(self) -> tuple[NDArray[np.int64], NDArray[np.str_]]:
        """Start and end of the slowest spans, the one that cost most time first, and the text of each by keys, as
        JSON."""
        found = slow.spans(self)
        ends = np.asarray([(span.t0_ns, span.t1_ns) for span, _ in found], np.int64).reshape(-1, 2)
        return ends, np.asarray([json.dumps(said) for _, said in found], np.str_)

    @cached_property
    def slow_spans(self) -> tuple[Stop, ...]:
        """The same as `Stop`s."""
        ends, texts = self.slowest
        said = [json.loads(text) for text in texts.tolist()]
        return tuple(
            Stop(t0, t1, SLOW, ENGLISH.of(one), one) for (t0, t1), one in zip(ends.tolist(), said, strict=True)
        )

    @kept
    def happened_in_order(self) -> tuple[NDArray[Any], ...]:
        """The arrays of `happened`. Its times are spread over the whole file of segments."""
        found = happened.happened(self)
        return found.t_ns, found.source, found.row

    @cached_property
    def happened(self) -> Happened:
        """All events, losses and retransmissions in order of time."""
        return Happened(*self.happened_in_order)

    @property
    def visits(self) -> tuple[Stop, ...]:
        """The stops or spans that the buttons lead to: the stops in order of time; where nothing stopped, the slowest
        spans."""
        return self.stops or self.slow_spans

    def first_view_ns(self) -> tuple[int, int]:
        """The span that is shown first: the first stop or the slowest span in its context; if there is neither, all."""
        return self.visit_view_ns(0) if self.visits else (0, max(self.duration_ns, 1))

    def visit_view_ns(self, number: int) -> tuple[int, int]:
        """A stop or span in its context, which is 0.6 of its length before and after it. Near the beginning the context
        starts at 0."""
        visit = self.visits[number]
        margin = int(0.6 * (visit.t1_ns - visit.t0_ns))
        start = visit.t0_ns - margin
        return (0 if start < margin else start), min(visit.t1_ns + margin, self.duration_ns)


def load(run: Run, trial: Trial, flow: int | None = None) -> Timeline:
    """The timeline of one flow (default: the flow with the most data). It is cached until the files change.
    Thread-safe."""
    segments = trial.path / "segments.parquet"
    chosen = (trial.flows or [0])[0] if flow is None else flow
    with _LOCK:
        return _load(run.path, trial.number, trial.back, chosen, segments.stat().st_mtime_ns)


_LOCK = threading.Lock()


@lru_cache(maxsize=CACHED_TIMELINES)
def _load(run_path: Path, number: int, back: bool, flow: int, _mtime_ns: int) -> Timeline:
    found = load_run(run_path).trial(number)
    trial = found.turned() if back else found
    if is_long(trial) and not stores_of(trial, flow)[0].done:
        apart.prepare(run_path, number, flow, *([REVERSE] if back else []))
    return joined(trial, flow, stored_leg if is_long(trial) and stores_of(trial, flow)[0].done else read_leg)


def is_long(trial: Trial) -> bool:
    """Whether a timeline is kept on disk, because the server's memory would not hold many of them."""
    return trial_tables.row_count(trial.path / "segments.parquet") >= STORED_FROM


def stores_of(trial: Trial, flow: int, whole: bool = False) -> tuple[Store, Store]:
    """Where the flow is kept, and the far gateway's connection. `whole`: as in `Store`."""
    of = (trial.path / "segments.parquet").stat()
    folder = kept_files.found(trial.path, f"{flow}-{STORED_AS}-{of.st_mtime_ns}-{of.st_size}", DONE)
    return Store(folder, whole), Store(folder / SERVER, whole)


def joined(trial: Trial, flow: int, leg: Callable[[Trial, int, Timeline | None, int], Timeline]) -> Timeline:
    """A flow with all that belongs to it. `leg`: returns one connection; see `read_leg`."""
    timeline = leg(trial, flow, None, flow)
    origin, other = timeline.origin_ns, pktlogger.pair_flows(trial.summary, trial.server_summary).get(flow)
    server = None if other is None else leg(trial, other, timeline, flow)
    between = tunnel.load(trial.home, origin) if server else None
    cwnd, srtt, notes = _sampled(trial, flow, origin)
    whole = limits.load(trial.path / WHOLE_LIMITS, flow, _whole_names(trial), origin) if server else None
    known = whole is not None or not behind_gateway(trial.params)
    notes = (*notes, *([one_end.NOTES[timeline.ends]] if timeline.ends in one_end.NOTES else []))
    notes += () if (trial.path / TRIPS).is_file() else (_NO_TRIPS,)
    return replace(timeline, server=server, tunnel=between, cwnd=cwnd, srtt=srtt, notes=notes,
                   limits=whole or timeline.limits, limits_whole=known)  # fmt: skip


def _whole_names(trial: Trial) -> list[str]:
    """The causes in whole-limits.parquet, which are of both connections together."""
    return _names(read_json(trial.path / THROUGH), "limit_causes")


def read_leg(trial: Trial, flow: int, client: Timeline | None, _: int) -> Timeline:
    """One connection from the tables of a trial, without cwnd. `client`: the client's connection, where this is the far
    gateway's; its first segment is the origin of both."""
    folder = trial.path if client is None else trial.path / SERVER
    there = set(trial_tables.names(folder / "segments.parquet"))
    boxed = set(box.COLUMNS) <= there
    marks = ("ecn_received",) if "ecn_received" in there else ()  # runs of an older pktlogger have none
    names = ("t_sent_ns", "t_received_ns", "seq", "len", "transmission", "kind", *marks,
             *(box.COLUMNS if boxed else ()))  # fmt: skip
    ends = _ends(trial, client, flow)
    at_receiver = ends == one_end.RECEIVER
    seg = _columns(folder / "segments.parquet", flow, names, "t_received_ns" if at_receiver else "t_sent_ns")
    ack_names = ("t_sent_ns", "t_received_ns", "ack", "window", *(("box_fate", "t_box_out_ns") if boxed else ()))
    ack = _columns(folder / "acks.parquet", flow, ack_names, "t_sent_ns" if at_receiver else "t_received_ns")
    one_end.completed(ends, seg, ack, folder / "losses.parquet", flow)
    lost = int(np.searchsorted(ack["t_received_ns"], 0))  # lost ACKs have -1 and sort first
    first = int(seg["t_sent_ns"][0]) if seg["t_sent_ns"].size else 0
    origin = first if client is None else client.origin_ns
    columns: Json = {
        "sent_ns": seg["t_sent_ns"] - origin,
        "received_ns": np.where(seg["t_received_ns"] < 0, seg["t_received_ns"], seg["t_received_ns"] - origin),
        "seq": seg["seq"],
        "length": seg["len"],
        "transmission": seg["transmission"],
        "kind": seg["kind"],
        "ack_ns": ack["t_received_ns"][lost:] - origin,
        "ack": ack["ack"][lost:],
        "window": ack["window"][lost:],
        "marked_rows": _marked(seg) if marks else np.zeros(0, np.int64),
        **_trips(folder / TRIPS, flow, origin),
    }
    fates = _fates(trial, client)
    never = _lost_acks({name: values[:lost] for name, values in ack.items()}, fates, origin)
    return _of(trial, flow, client, origin, columns, Box.of(fates, seg, origin) if boxed else None, never)


def _trips(path: Path, flow: int, origin: int) -> Json:
    """The samples of the round-trip time; none in runs of an older pktlogger."""
    none = np.zeros(0, np.int64)
    rows = {"t_ns": none, "rtt_ns": none, "gap": none}
    if path.is_file():
        rows = _columns(path, flow, tuple(rows), sort_by="t_ns")
    return {"trip_ns": rows["t_ns"] - origin, "trip_rtt_ns": rows["rtt_ns"], "trip_gap": rows["gap"] != 0}


def _marked(seg: dict[str, NDArray[Any]]) -> NDArray[np.int64]:
    """The rows of segments that arrived with CE, in order of arrival."""
    rows = np.flatnonzero((seg["ecn_received"] == CE) & (seg["t_received_ns"] >= 0))
    return rows[np.argsort(seg["t_received_ns"][rows], kind="stable")]


def stored_leg(trial: Trial, flow: int, client: Timeline | None, main: int, whole: bool = False) -> Timeline:
    """One connection, from the arrays that `prepare` has made. `main`: the flow of the client's connection. `whole`: as
    in `Store`."""
    store = stores_of(trial, main, whole)[client is not None]
    columns: Json = {name: store.array(name) for name in BASE}
    boxed = store.arrays("box")
    never = store.arrays("lost_acks")
    found = Box(tuple(_fates(trial, client)), *boxed) if boxed else None
    origin = int(store.array("origin")[0])
    leg = _of(trial, flow, client, origin, columns, found, LostAcks(*never) if never else None)
    return replace(leg, store=store)


def _ends(trial: Trial, client: Timeline | None, flow: int) -> str:
    """The ends at which a connection was captured. Older analyses say it for all connections together."""
    summary = trial.summary if client is None else trial.server_summary
    return str(flow_summary(summary, flow).get("ends") or summary.get("ends") or one_end.BOTH)


def _fates(trial: Trial, client: Timeline | None) -> list[str]:
    summary = trial.summary if client is None else trial.server_summary
    return [str(name) for name in (summary.get("box") or {}).get("fates") or ()]


def _of(
    trial: Trial,
    flow: int,
    client: Timeline | None,
    origin: int,
    columns: Json,
    stored: Box | None,
    never: LostAcks | None,
) -> Timeline:
    """A connection from these columns and its small files."""
    folder, summary = (trial.path, trial.summary) if client is None else (trial.path / SERVER, trial.server_summary)
    own = flow_summary(summary, flow)
    ends = _ends(trial, client, flow)
    return Timeline(
        ends=ends, origin_ns=origin, params=trial.params, summary=own, back=trial.back, **columns,
        events=_events(summary, folder / "events.parquet", flow, origin),
        stops=tuple(_stop(entry, origin) for entry in own.get("stops") or ()),
        cwnd=NO_SERIES, box=stored, lost_acks=never,
        limits=limits.load(folder / "limits.parquet", flow, _names(summary, "limit_causes"), origin),
        losses=happened.load_losses(folder / "losses.parquet", flow, _names(summary, "loss_causes"), origin,
                                    _names(summary, "ruled_out")),
    )  # fmt: skip


def _names(summary: Json, key: str) -> list[str]:
    return [str(name) for name in summary.get(key) or ()]


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
    """Columns of one flow as numpy arrays, sorted by `sort_by`; 64-bit columns are int64."""
    table = trial_tables.read(path, ["flow", *names], memory_map=True)
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
    if column.null_count:  # nulls: a capture of one end does not show these
        column = pc.fill_null(column, 255 if pa.types.is_uint8(column.type) else -1)
    values: NDArray[Any] = column.combine_chunks().to_numpy(zero_copy_only=False)
    if values.dtype.itemsize >= 4:
        return values.view(np.int64) if values.dtype == np.uint64 else values.astype(np.int64, copy=False)
    return values


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
    return Stop(
        int(entry["t0_ns"]) - origin,
        int(entry["t1_ns"]) - origin,
        cause,
        str(entry.get("text") or cause),
        stop_said(entry),
    )


_NO_TRIPS = (
    "Round-trip times of single packets are left out: this trial was analysed before pktlogger had a table of them. "
    "`pktlogger analyse` on its captures makes one."
)
_NO_SAMPLES_BACK = (
    "Congestion window and smoothed RTT are not shown: there are no samples of TCP_INFO for this sending end."
)
_NO_CLOCK = (
    "The congestion window is left out: this run was made in virtual time before trials recorded their own clocks, so "
    "the times of its samples are not known. Run the scenario again to see the window."
)


_NO_RTT_US = 2**32 - 1  # tcpi_min_rtt before the first measurement


def _sampled(trial: Trial, flow: int, origin_ns: int) -> tuple[Series, Series, tuple[str, ...]]:
    """From TCP_INFO of a flow's own sender the congestion window in bytes (segments × MSS) and the smoothed RTT over
    time, and notes about them. Samples have the CLOCK_MONOTONIC of where the trial ran, and captures its
    CLOCK_REALTIME."""
    path, stream = trial.samples_of(flow) or (None, None)
    if trial.back and not (path and path.is_file()):
        return NO_SERIES, NO_SERIES, (_NO_SAMPLES_BACK,)
    names = set(trial_tables.names(path)) if path and path.is_file() else set()
    wanted = ["t_ns", "snd_cwnd", "snd_mss", *(name for name in ("rtt_us", "min_rtt_us") if name in names)]
    if not path or not set(wanted) <= names:
        return NO_SERIES, NO_SERIES, ()
    if trial.realtime_offset_ns is None:
        return NO_SERIES, NO_SERIES, (_NO_CLOCK,)
    own = [("stream", "==", stream)] if stream is not None and "stream" in names else None
    table = trial_tables.read(path, wanted, memory_map=True, filters=own)
    samples = {name: _numpy(table.column(name)) for name in wanted}
    t = samples["t_ns"] + (trial.realtime_offset_ns - origin_ns)
    rtt, least = (samples.get(name, np.zeros(t.size, np.int64)) for name in ("rtt_us", "min_rtt_us"))
    measured = (rtt > 0) | ((least > 0) & (least < _NO_RTT_US))  # a measured RTT can be 0, too
    return Series(t, samples["snd_cwnd"] * samples["snd_mss"]), Series(t[measured], rtt[measured] * 1000), ()
