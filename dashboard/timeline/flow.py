"""The packets of one flow of one captured trial, as numpy arrays, and the series derived from them.

Derived series are computed on first use and kept with the flow. Times are int64 ns from the first segment sent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dashboard.core import series
from dashboard.core.messages import Messages, Said
from dashboard.core.runs import Json
from dashboard.core.series import F64, I64, NO_SERIES, Series
from dashboard.timeline import one_end
from dashboard.timeline.box import Box
from dashboard.timeline.limits import Limits
from dashboard.timeline.store import Store, kept
from dashboard.timeline.stream import Stream
from dashboard.timeline.tunnel import Tunnel

CE = 3  # value of IP's ECN field
NEW, FAST, TIMEOUT, SPURIOUS, PROBE = range(5)
KINDS = ("new", "fast", "timeout", "spurious", "probe")


def kind_words(kinds: NDArray[np.uint8], say: Messages) -> NDArray[np.object_]:
    """The words for each of these kinds; a kind that only a later pktlogger knows has the last kind's words."""
    words = np.asarray([say(f"kind.{name}") for name in KINDS], object)
    return np.asarray(words[np.minimum(kinds, len(KINDS) - 1)], object)


@dataclass(frozen=True)
class Stop:
    """A time in which nothing was sent, with pktlogger's explanation; or, with `cause` "slow", a slow span with what is
    known of it. Times are in ns from the first segment. `said`: the text by keys (messages.toml), for other languages;
    None: an older pktlogger has written the text alone."""

    t0_ns: int
    t1_ns: int
    cause: str
    text: str
    said: Said | None = None


@dataclass(frozen=True)
class Events:
    """Labelled causes; `kind` has their names. Times are in ns from the first segment."""

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
    """Acknowledgements that never arrived, in order of time. The time is when the packet was dropped, or when it was
    sent if the former is not known. `fate`: its name; empty where it is not known."""

    t_ns: I64
    ack: I64
    fate: NDArray[np.str_]


@dataclass(frozen=True)
class Losses:
    """The rows of losses.parquet of a flow, in order of time, ns from the origin. `cause` counts in `names`.
    ``ruled_out``: the causes that the path cannot have by its parameters."""

    t_ns: I64
    seq: I64
    cause: NDArray[np.uint8]
    run: I64
    queue_ns: I64
    names: tuple[str, ...]
    ruled_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Flow:
    """Segments in order of sending, and ACKs in order of arrival at the sender. `received_ns` −1: never arrived.

    With gateways these belong to the client's connection, which ends at the near gateway. `server` is then the far
    gateway's connection. It has the same origin and the same sequence numbers, because its bytes are the same. `back`:
    these are data that the receivers sent; the first connection is then the server's, and `server` the client's.
    `notes`: sentences about what is left out. `limits_whole`: `limits` are of the whole transfer; otherwise of the
    first connection alone, because the other one was not captured. `marked_rows`: segments that arrived with CE, in
    order of arrival. `trip_…`: pktlogger's samples of the round-trip time, in order of their ACKs' arrival. `ends`: the
    ends at which the connection was captured (`one_end`); `received_ns` is then UNKNOWN at the sender alone.
    """

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
    trip_ns: I64
    trip_rtt_ns: I64
    trip_gap: NDArray[np.bool_]
    events: Events
    stops: tuple[Stop, ...]
    cwnd: Series
    box: Box | None = None
    lost_acks: LostAcks | None = None
    server: Flow | None = None
    tunnel: Tunnel | None = None
    notes: tuple[str, ...] = ()
    limits: Limits | None = None
    limits_whole: bool = True
    losses: Losses | None = None
    store: Store | None = None
    srtt: Series = NO_SERIES
    back: bool = False
    marked_rows: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    ends: str = one_end.BOTH

    @property
    def verdict(self) -> str:
        """What `pktlogger analyse` says first of this flow; empty where no cause is known."""
        return str((self.summary.get("verdict") or {}).get("text") or "")

    @property
    def program_known(self) -> bool:
        """Whether anything besides the captures shows when the sender's program had nothing to send. True for older
        runs, which do not record it."""
        return bool(self.summary.get("samples", 1) or self.summary.get("always_data"))

    @kept
    def end(self) -> I64:
        """The sequence number after each segment's last byte."""
        return self.seq + self.length

    @cached_property
    def duration_ns(self) -> int:
        """The time from the first segment to the last packet."""
        return max(int(self.last_ns[0]), self.server.duration_ns if self.server else 0)

    @kept
    def last_ns(self) -> I64:
        """The time of this connection's last packet, as an array of one."""
        last = [int(t.max()) for t in (self.sent_ns, self.received_ns, self.ack_ns) if t.size]
        return np.asarray([max(*last, 0, 0)], np.int64)

    @kept
    def rtt_quantiles_ns(self) -> F64:
        """The least and the median round-trip time; empty without samples."""
        value = self.rtt.value
        return np.quantile(value, (0, 0.5)) if value.size else np.zeros(0)

    @kept
    def resent_rows(self) -> I64:
        """Rows of all segments that were sent again."""
        return np.flatnonzero(self.kind != NEW)

    @kept
    def sent_rows(self) -> tuple[I64, ...]:
        """Rows in order of sending, for each kind (NEW … PROBE)."""
        return tuple(np.flatnonzero(self.kind == kind) for kind in range(len(KINDS)))

    @kept
    def lost_rows(self) -> I64:
        return np.flatnonzero(self.received_ns == one_end.LOST)

    @kept
    def lost_times(self) -> I64:
        """The sending times of `lost_rows`."""
        return self.sent_ns[self.lost_rows]

    @kept
    def lost_fates(self) -> NDArray[np.uint8]:
        """What the box did with `lost_rows`."""
        assert self.box
        return self.box.fate[self.lost_rows]

    @kept
    def arrival_rows(self) -> I64:
        """Rows of segments that arrived, in order of arrival."""
        rows = np.flatnonzero(self.received_ns >= 0)
        order: I64 = np.argsort(self.received_ns[rows], kind="stable")
        return np.asarray(rows[order], dtype=np.int64)

    @kept
    def box_rows(self) -> I64:
        """Rows of segments that were sent for the first time and left the box's bottleneck, in the order of leaving."""
        assert self.box
        rows = np.flatnonzero((self.box.exit_ns >= 0) & (self.kind == NEW))
        return np.asarray(rows[np.argsort(self.box.exit_ns[rows], kind="stable")], dtype=np.int64)

    @kept
    def arrived_rows(self) -> tuple[I64, ...]:
        """Rows in order of arrival, for each kind (NEW … PROBE)."""
        kinds = self.kind[self.arrival_rows]
        return tuple(np.asarray(self.arrival_rows[kinds == kind], dtype=np.int64) for kind in range(len(KINDS)))

    @kept
    def sent_times(self) -> tuple[I64, ...]:
        """The sending times of `sent_rows`."""
        return tuple(self.sent_ns[rows] for rows in self.sent_rows)

    @kept
    def arrived_times(self) -> tuple[I64, ...]:
        """The arrival times of `arrived_rows`."""
        return tuple(self.received_ns[rows] for rows in self.arrived_rows)

    @kept
    def unacknowledged(self) -> Series:
        if self.ends == one_end.RECEIVER:
            return NO_SERIES
        return series.unacknowledged_bytes(self.sent_ns, self.seq, self.end, self.ack_ns, self.ack)

    @kept
    def rtt(self) -> Series:
        """The samples of the round-trip time."""
        return NO_SERIES if self.ends == one_end.RECEIVER else Series(self.trip_ns, self.trip_rtt_ns)

    @kept
    def rtt_gaps(self) -> I64:
        """Rows of `rtt` after which, before the next row, an ACK acknowledges new data without giving a sample."""
        return np.flatnonzero(self.trip_gap[1 : self.rtt.t_ns.size])

    @kept
    def acks(self) -> Series:
        """The sequence number that each ACK acknowledges, at its arrival."""
        return Series(self.ack_ns, self.ack)

    @kept
    def window_edge(self) -> Series:
        """The highest sequence number that the receiver allows, as the sender knows it at each ACK."""
        return Series(self.ack_ns, self.ack + self.window)

    @kept
    def sent_line(self) -> Series:
        """The ends of segments that were sent for the first time, row by row of `sent_rows[NEW]`."""
        return Series(self.sent_times[NEW], self.end[self.sent_rows[NEW]])

    @kept
    def arrived_line(self) -> Series:
        """The ends of segments that arrived, row by row of `arrived_rows[NEW]`."""
        return Series(self.arrived_times[NEW], self.end[self.arrived_rows[NEW]])

    @kept
    def box_line(self) -> Series:
        """The ends of segments that left the box's bottleneck, row by row of `box_rows`."""
        assert self.box
        return Series(self.box.exit_ns[self.box_rows], self.end[self.box_rows])

    @cached_property
    def sent(self) -> Stream:
        """All data as they were sent, every transmission."""
        return Stream(self.sent_ns, *self.sent_stream)

    @cached_property
    def arrived(self) -> Stream:
        """The data that were new to the receiver, as they arrived."""
        return Stream(*self.arrived_stream)

    @kept
    def sent_stream(self) -> tuple[I64, I64]:
        """The arrays of a `Stream` of `sent_ns`, except these times."""
        found = Stream.of(self.sent_ns, self.length)
        return found.bytes_until, found.marks_ns

    @kept
    def arrived_stream(self) -> tuple[I64, I64, I64]:
        """The arrays of the `Stream` of arrivals."""
        rows = self.arrival_rows[self.kind[self.arrival_rows] != SPURIOUS]
        found = Stream.of(self.received_ns[rows], self.length[rows])
        return found.t_ns, found.bytes_until, found.marks_ns

    @kept
    def box_queue(self) -> Series:
        """Bytes of this flow's data in the delay box's queue: those that have come in minus those that have left the
        bottleneck. A segment that the queue refused never came in."""
        assert self.box
        rows = np.flatnonzero((self.box.in_ns >= 0) & (self.box.exit_ns >= 0))
        came, left = self.box.in_ns[rows], self.box.exit_ns[rows]
        t = np.concatenate([left, came])  # at equal times, departures come before arrivals
        change = np.concatenate([-self.length[rows], self.length[rows]])
        order = np.argsort(t, kind="stable")
        return Series(t[order], np.cumsum(change[order]))

    @kept
    def inside_gateways(self) -> Series:
        """Bytes that have arrived at the near gateway and that the far one has not sent yet: the highest byte arrived −
        the highest byte sent."""
        assert self.server
        came, left = self.arrival_rows, self.server.sent_rows[NEW]
        return series.unacknowledged_bytes(
            self.received_ns[came], self.seq[came], self.end[came], self.server.sent_ns[left], self.server.end[left]
        )

    @kept
    def through_gateways(self) -> Series:
        """How long data took from gateway in to gateway out; a point for each segment that the far gateway sent."""
        assert self.server
        came = self.arrival_rows[self.kind[self.arrival_rows] != SPURIOUS]
        return series.passage_ns(
            self.received_ns[came],
            self.end[came],
            self.server.sent_times[NEW],
            self.server.end[self.server.sent_rows[NEW]],
        )

    @property
    def stopped_share(self) -> float | None:
        """lfp-1995's s: the share of the elapsed time in which sending was stopped."""
        value = self.summary.get("stopped_share")
        return None if value is None else float(value)
