"""Where a transfer that never stopped lost most time: its slowest spans, with what is known of each.

Rates count data new to the receiver, in windows of a few round trips (of one round trip in a short transfer). A window
is slow if its rate is below SLOW_SHARE of the line's rate (of the gateways' limit). Where half of the windows are slow
by that measure (a small TCP window, heavy loss), the transfer's own median rate is the measure. Slow windows side by
side are one span. Spans are ranked by the time that they cost: length × (1 − share of the measure). A transfer that is
slow throughout, and evenly so, is one span itself. Rejected: ranking by rate alone, which finds the shortest dips.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.core.downsample import inside
from dashboard.core.messages import Said, counted
from dashboard.core.physics import bottleneck
from dashboard.core.series import F64, I64
from dashboard.timeline import one_end
from dashboard.timeline.flow import Flow
from dashboard.timeline.messages import fate_key
from netcommon import readable

SLOW_SHARE = 0.5
MOST = 5
WINDOW_RTTS = 4
ENOUGH_WINDOWS = 20  # a transfer with fewer windows of WINDOW_RTTS is divided into windows of one round trip
LEAST_WINDOWS = 4  # fewer windows cannot be compared with one another
MOST_WINDOWS = 20_000
PACKETS = 10  # segments that a window holds at least at the average rate: fewer would show packets, not a rate
MEASURE = (
    f"A span is slow if its rate is below {readable.share(SLOW_SHARE)} of the line's rate (of the gateways' limit), or "
    "of the transfer's own median rate where half of the transfer is slower than that. Rates are taken over "
    f"{WINDOW_RTTS} round trips, or over one in a short transfer. The span that cost most time comes first."
)
EVENTS = ("rto", "zero_window", "receiver_window", "idle")  # kinds of events that a text counts


@dataclass(frozen=True)
class Slow:
    """One span, ns from the timeline's origin. `bps`: rate of data new to the receiver; `lost_ns`: the time that the
    span cost."""

    t0_ns: int
    t1_ns: int
    bps: float
    lost_ns: float


@dataclass(frozen=True)
class Measure:
    """The rate with which windows are compared, and the message key for a share of it."""

    bps: float
    key: str


def spans(timeline: Flow) -> tuple[tuple[Slow, Said], ...]:
    """At most MOST spans, each with a text, the one that cost most first; empty where the transfer was even."""
    rates, start, width = _windows(timeline)
    line, own = _line(timeline), Measure(float(np.median(rates)) if rates.size else 0.0, "slow.of_own")
    measure = line if line.bps and own.bps >= SLOW_SHARE * line.bps else own
    found = []
    if rates.size >= LEAST_WINDOWS:
        found = _merged(rates, rates < SLOW_SHARE * measure.bps, start, width, measure.bps)
        found.sort(key=lambda span: -span.lost_ns)
    if not found and (whole := _whole(timeline, line)):
        found, measure = [whole], line
    return tuple((span, _text(timeline, span, measure, line)) for span in found[:MOST])


def _windows(timeline: Flow) -> tuple[F64, int, int]:
    """The rates of all windows in bit/s, the first window's start, and the width of windows in ns."""
    arrived = (timeline.server or timeline).arrived
    t, total = arrived.t_ns, arrived.bytes_until
    if t.size < 2 or t[-1] == t[0]:
        return np.zeros(0), 0, 1
    length = int(t[-1] - t[0])
    packets = PACKETS * float(timeline.params.get("mtu") or 1500) * length / max(float(total[-1]), 1.0)
    least = max(packets, length / MOST_WINDOWS, 1e6)
    width = int(max(WINDOW_RTTS * _round_trip_ns(timeline), least))
    if length // width < ENOUGH_WINDOWS:
        width = int(max(_round_trip_ns(timeline), least))
    count = length // width
    if not count:
        return np.zeros(0), 0, 1
    _, rates = arrived.rate_bps(int(t[0]), int(t[0]) + count * width - 1, width)
    return rates, int(t[0]), width


def _round_trip_ns(timeline: Flow) -> float:
    """The path's round-trip time. Behind a gateway the sender's own RTT covers only the path to the gateway."""
    rtt = timeline.rtt_quantiles_ns
    return max(float(rtt[1]) if rtt.size else 0.0, float(timeline.params.get("rtt_ns") or 0))


def _line(timeline: Flow) -> Measure:
    """The greatest rate that can pass; 0: no limit is known."""
    limit = float(timeline.params.get("gateway_rate_bps") or 0)
    if limit:
        return Measure(limit, "slow.of_limit")
    return Measure(bottleneck(timeline.params)[0], "slow.of_line")


def _whole(timeline: Flow, line: Measure) -> Slow | None:
    """The whole transfer as one span, if it was slow compared with the line."""
    arrived = (timeline.server or timeline).arrived
    t, total = arrived.t_ns, arrived.bytes_until
    if t.size < 2 or t[-1] == t[0]:
        return None
    bps = float(total[-1]) * 8e9 / float(t[-1] - t[0])
    if bps >= SLOW_SHARE * line.bps:
        return None
    return Slow(int(t[0]), int(t[-1]), bps, float(t[-1] - t[0]) * (1 - bps / line.bps))


def _merged(rates: F64, slow: NDArray[np.bool_], start: int, width: int, bps: float) -> list[Slow]:
    """Slow windows side by side as one span each."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], slow, [False])).astype(np.int8)))
    return [
        Slow(
            start + int(first) * width,
            start + int(end) * width,
            float(rates[first:end].mean()),
            float((1 - rates[first:end] / bps).sum() * width),
        )
        for first, end in edges.reshape(-1, 2)
    ]


def rate_of(said: Said) -> Said:
    """The beginning of a span's text: its rate, and what that is compared with."""
    return ["slow.rate", {name: said[1][name] for name in ("rate", "shares")}]


def _text(timeline: Flow, span: Slow, measure: Measure, line: Measure) -> Said:
    """A text about a span: `12.3 Mbit/s (27 % of the line): 14 retransmissions, …`."""
    measures = dict.fromkeys((measure, line) if line.bps else (measure,))
    shares = [[one.key, {"share": readable.share(span.bps / one.bps, 2)}] for one in measures]
    known = [*_known(timeline, span)] or [["slow.nothing", {}]]
    return ["slow", {"rate": readable.rate(span.bps, 3), "shares": _listed(shares), "known": _listed(known)}]


def _listed(said: list[Said]) -> Said:
    """Several texts as one."""
    return said[0] if len(said) == 1 else ["slow.list", {"first": said[0], "rest": _listed(said[1:])}]


def _known(timeline: Flow, span: Slow) -> Iterator[Said]:
    """What the capture shows of a span and of the round trip before it, which has the causes."""
    t0, t1 = int(span.t0_ns - _round_trip_ns(timeline)), span.t1_ns
    arrivals = (timeline.server or timeline).arrived.t_ns
    if span.t0_ns <= arrivals[0]:
        yield ["slow.all" if span.t1_ns >= arrivals[-1] else "slow.start", {}]
    yield from _of_leg(timeline, t0, t1)
    if timeline.server is not None:
        side = f"slow.on_{'client' if timeline.back else 'server'}"
        yield from ([side, {"what": said}] for said in _of_leg(timeline.server, t0, t1))
    yield from _dropped_frames(timeline, t0, t1)
    rtt = _values(timeline.rtt.t_ns, timeline.rtt.value, t0, t1)
    if rtt.size and not timeline.server:  # with gateways the sender's RTT ends at the near one
        median, least = float(np.median(rtt)), float(timeline.rtt_quantiles_ns[0])
        yield ["slow.rtt", {"median": readable.duration(median, 3), "least": readable.duration(least, 3)}]
    cwnd = _values(timeline.cwnd.t_ns, timeline.cwnd.value, t0, t1)
    if cwnd.size and cwnd.min() < cwnd[0]:
        yield ["slow.cwnd", {"size": readable.size(int(cwnd.min()), 3)}]


def _values(t: I64, value: I64, t0: int, t1: int) -> I64:
    return value[inside(t, t0, t1)]


def _of_leg(leg: Flow, t0: int, t1: int) -> Iterator[Said]:
    """Texts about one connection: retransmissions, losses by fate, and events."""
    rows = inside(leg.sent_ns, t0, t1)
    if resent := int((leg.kind[rows] != 0).sum()):
        yield counted("slow.resent", resent)
    lost = np.flatnonzero(leg.received_ns[rows] == one_end.LOST) + rows.start
    if lost.size:
        found = np.unique(leg.box.fate[lost], return_counts=True) if leg.box else ((), ())
        fates = {leg.box.name(int(fate)): int(many) for fate, many in zip(*found, strict=True)} if leg.box else {}
        yield _by_fate(counted("slow.lost", lost.size), fates)
    events = leg.events
    for kind in EVENTS:
        own = events.of(kind)
        if count := int(((events.t1_ns[own] >= t0) & (events.t0_ns[own] <= t1)).sum()):
            yield counted(f"slow.{kind}", count)


def _dropped_frames(timeline: Flow, t0: int, t1: int) -> Iterator[Said]:
    tunnel = timeline.tunnel
    rows = inside(tunnel.drop_ns, t0, t1) if tunnel else slice(0, 0)
    if tunnel and rows.stop > rows.start:
        found = np.unique(tunnel.drop_fate[rows], return_counts=True)
        fates = {str(fate): int(many) for fate, many in zip(*found, strict=True)}
        yield _by_fate(counted("slow.frames", sum(fates.values())), fates)


def _by_fate(what: Said, fates: dict[str, int]) -> Said:
    """`2 lost segments (1 queue full, 1 by the path's loss)`; nothing in brackets where the fates are not known."""
    said: list[Said] = [
        ["slow.fate", {"n": f"{count:,}", "fate": [fate_key(fate), {}]}] for fate, count in fates.items()
    ]
    return ["slow.fates", {"what": what, "fates": _listed(said)}] if said else what
