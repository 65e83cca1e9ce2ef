"""The theoretical throughput of each trial from its settings alone, as lines over an axis of curves.

A line has a point where all trials of a series have one value. Series that agree share one line. Lines that a bare TCP
sender obeys (window ÷ RTT, Mathis) leave out trials behind gateways, and end at the line's rate, above which they say
nothing. Rejected: lines by the measured RTT, which includes the queue that theory is to explain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

from dashboard.core.asked import THROUGHPUT
from dashboard.core.grouping import Group
from dashboard.core.physics import bottleneck
from dashboard.core.runs import Json, behind_gateway
from scenarios.plan import pair_path

Value = float | str
HEADERS_BYTES = 40  # headers of IPv4 and TCP without options: MSS = MTU - 40
RENO = ("reno",)  # controls that obey Mathis' law: they halve the window at a loss, and add a segment a round trip
MATHIS = sqrt(3 / 2)  # Mathis et al. 1997, an ACK for every packet
_LIMITS = ("loss_ppb", "rate_bps", "gateway_rate_bps")  # axes over which the erasure channel's limit is worth a line


@dataclass(frozen=True)
class TheoryLine:
    """One law, as (x, y in bit/s) by ascending x. `series` empty: it holds for all series."""

    law: str
    series: str
    points: tuple[tuple[Value, float], ...]


def lines(groups: Sequence[Group], x: str, y: str, values: Sequence[Value]) -> tuple[TheoryLine, ...]:
    """The lines over column `x` for the result `y`; `values`: the values on the axis in order."""
    lines_found: list[TheoryLine] = []
    for law, (holds, value) in LAWS.items():
        if not holds(x, y):
            continue
        own = {group.name: _points(group.rows, x, values, value) for group in groups}
        curves = {name: points for name, points in own.items() if points}
        if curves and _agree(list(curves.values())):
            every = {place: bps for points in curves.values() for place, bps in points}
            curves = {"": tuple((place, every[place]) for place in values if place in every)}
        lines_found += [TheoryLine(law, name, points) for name, points in curves.items() if len(points) > 1]
    return tuple(lines_found)


def _points(
    rows: Sequence[Json], x: str, values: Sequence[Value], value: Callable[[Json], float | None]
) -> tuple[tuple[Value, float], ...]:
    """The law's points of one series; none where its trials differ in what the law depends on."""
    found = []
    for place in values:
        said = {value(row) for row in rows if row.get(x) == place}
        if len(said) > 1:
            return ()
        if said and (bps := said.pop()) is not None:
            found.append((place, bps))
    return tuple(found)


def _agree(lines: Sequence[tuple[tuple[Value, float], ...]]) -> bool:
    """Whether no x has two values."""
    places = {place for points in lines for place in points}
    return len({place for place, _ in places}) == len(places)


def erasure_bps(row: Json) -> float | None:
    """The greatest rate that passes a path which loses the share p: limit × (1 − p), the gateways' limit or the
    line's."""
    limit, loss = row.get("gateway_rate_bps") or bottleneck(row)[0], _loss(row)
    return float(limit) * (1 - loss) if limit and loss is not None else None


def window_bps(row: Json) -> float | None:
    """The rate of one window per round trip of the empty path."""
    window, rtt = row.get("window_bytes"), _rtt_ns(row)
    return _below_rate(row, window * 8e9 / rtt) if window and rtt else None


def mathis_bps(row: Json) -> float | None:
    """MSS ÷ RTT × sqrt(3/2) ÷ sqrt(p): Reno's mean rate with independent loss of the share p. Other congestion controls
    have none: CUBIC and BBR do not obey it."""
    if row.get("congestion") not in RENO:
        return None
    loss, rtt, mtu = _loss(row), _rtt_ns(row), row.get("mtu") or 1500
    return _below_rate(row, (mtu - HEADERS_BYTES) * 8e9 / rtt * MATHIS / sqrt(loss)) if loss and rtt else None


def _loss(row: Json) -> float | None:
    """The share of packets that is lost at random, 0 … 1; None where a model loses them."""
    lost = 0.0
    for path in pair_path.paths(row):
        ppb = path.get("loss_ppb")
        if ppb is None:
            return None
        lost += (1 - lost) * ppb / 1e9
    return lost


def _rtt_ns(row: Json) -> float:
    """The path's round-trip time by its settings; 0 behind a gateway, where the sender does not see it."""
    return 0.0 if behind_gateway(row) else float(row.get("rtt_ns") or 0)


def _below_rate(row: Json, bps: float) -> float | None:
    rate, _ = bottleneck(row)
    return None if rate and bps > rate else bps


Law = tuple[Callable[[str, str], bool], Callable[[Json], float | None]]
LAWS: dict[str, Law] = {
    "limit × (1 − loss)": (lambda x, y: x in _LIMITS and y.endswith("_bps"), erasure_bps),
    "window ÷ RTT": (lambda x, y: y == THROUGHPUT and x != "window_bytes", window_bps),
    "Mathis (Reno)": (lambda x, y: y == THROUGHPUT, mathis_bps),
}
