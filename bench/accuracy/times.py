"""delay.accuracy, times: delay, rate, and spacing at a low rate, from the kernel's times at the two NICs of the box.

The time at the sender's NIC is taken when the host hands the packet to the TAP, and the time at the receiver's NIC when
the box has written it there. The time between them covers the box's reading, model, waiting and writing, but not the
hosts' stacks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.accuracy import numbered
from bench.accuracy.arrivals import Packets, captured
from bench.registry import Place, Row
from bench.two_hosts import box, iperf3, iperf3_result
from netcommon.errors import LfpError
from scenarios.network.host_pair import ADDRESSES, MTU, Hosts

DELAY_NS = 10_000_000
SPINNING: dict[str, int] = {"poll_ns": 0, "spin_ns": 5_000_000}
PAYLOAD_STEADY = 100
DELAY_MEDIAN_US, DELAY_P99_US = 20.0, 200.0  # what is claimed
RATE_TOLERANCE = 0.001
WARM_UP_S = 3
SPACING_BPS, SPACING_P90_US = 10_000_000, 100.0
PARTS, PAYLOAD = 44, 1400


def steady(
    pair: Hosts, place: Place, rate: int, seconds: int, path: dict[str, int | str]
) -> tuple[Packets, Packets, float]:
    """Sends numbered packets at this rate through a spinning box. Returns them as captured at the sender and at the
    receiver, and the box's own p99 lateness in us."""
    with (
        box(pair, MTU, path, place.scratch, place.ledger, **SPINNING) as tool,
        captured(place, (pair.sender, pair.receiver), numbered.FILTER) as capture,
    ):
        numbered.send_steady(pair, rate, seconds, PAYLOAD_STEADY)
        numbered.wait_quiet(pair)
        end = tool.stop(10) or {}
    return capture.points[0], capture.points[1], end["statistics"]["ab"]["lateness"]["p99_ns"] / 1e3


def delay(pair: Hosts, place: Place, label: str, rate: int) -> Iterator[Row]:
    """The error of the added delay at this packet rate."""
    seconds = min(place.seconds or 10, 10)
    sent, arrived, late_us = steady(pair, place, rate, seconds, {"delay_ns": DELAY_NS})
    errors_us = delay_errors_ns(sent, arrived) / 1e3
    span_s = float(sent.t_ns[-1] - sent.t_ns[0]) / 1e9
    note = (
        f"{errors_us.size} packets, {errors_us.size / max(span_s, 1e-9):.0f}/s; the box says late p99 {late_us:.0f} us"
    )
    offered = errors_us.size / max(span_s, 1e-9)
    yield Row(f"delay load, {label}", "packets/s", offered, rate * 0.8, rate * 1.2, "what the sender managed")
    median, p99 = float(np.median(errors_us)), float(np.percentile(np.abs(errors_us), 99))
    allowed = DELAY_MEDIAN_US if rate >= 10_000 else DELAY_P99_US  # an idle box sleeps and wakes late
    yield Row(f"delay error, {label}, median", "us", median, -allowed, allowed, note)
    yield Row(f"delay error, {label}, p99", "us", p99, 0.0, DELAY_P99_US, note)


def delay_errors_ns(sent: Packets, arrived: Packets) -> np.ndarray:
    """(time from NIC to NIC) − delay of every packet that arrived. Packets are joined by their numbers."""
    _, at_sender, at_receiver = np.intersect1d(
        sent.number_at(numbered.UDP_HEADERS), arrived.number_at(numbered.UDP_HEADERS), return_indices=True
    )
    if not at_sender.size:
        raise LfpError("delay.accuracy: no packet was seen at both ends")
    errors: np.ndarray = arrived.t_ns[at_receiver] - sent.t_ns[at_sender] - DELAY_NS
    return errors


def rate(pair: Hosts, place: Place, rate_bps: int) -> Iterator[Row]:
    """The bottleneck's rate while a TCP stream keeps it busy, from arrival times at the receiver."""
    seconds = place.seconds or 60
    queue = max(256 << 10, rate_bps // 8 // 10)  # 100 ms of the line, because a busy sender may wake that late
    path: dict[str, int | str] = {"rate_bps": rate_bps, "queue_bytes": queue, "framing": "l2"}
    options = ["--time", str(WARM_UP_S + seconds), "--congestion", "cubic"]
    wanted = f"tcp and dst host {ADDRESSES[1]} and greater 1000"
    with (
        box(pair, MTU, path, place.scratch, place.ledger),
        captured(place, [pair.receiver], wanted) as capture,
        iperf3(pair, place.ledger, *options) as stream,
    ):
        iperf3_result(stream, WARM_UP_S + seconds + 120.0)
    measured, over_s = line_rate_bps(capture.points[0], WARM_UP_S, seconds)
    low, high = rate_bps * (1 - RATE_TOLERANCE), rate_bps * (1 + RATE_TOLERANCE)
    yield Row(f"rate {rate_bps / 1e6:g} Mbit/s", "bit/s", measured, low, high, f"over {over_s:.1f} s, ± 0.1 %")


def line_rate_bps(packets: Packets, skip_s: float, seconds: float) -> tuple[float, float]:
    """The rate on the line (link header and up) in bit/s, and the seconds that it was measured over. A super-packet
    stands for its wire packets, each with headers of its own. The first packet only starts the clock."""
    header = 14 + (packets.data[:, 14] & 15).astype(np.int64) * 4 + (packets.data[:, 46] >> 4).astype(np.int64) * 4
    payload, segment = packets.length - header, MTU + 14 - header
    on_line = payload + header * -(-payload // segment)
    since = packets.t_ns - packets.t_ns[:1] - int(skip_s * 1e9)
    chosen = np.flatnonzero((since >= 0) & (since <= int(seconds * 1e9)))
    if chosen.size < 2:
        raise LfpError("delay.accuracy: too few packets arrived to tell a rate")
    over_s = float(packets.t_ns[chosen[-1]] - packets.t_ns[chosen[0]]) / 1e9
    return float(on_line[chosen[1:]].sum()) * 8 / over_s, over_s


def spacing(pair: Hosts, place: Place) -> Iterator[Row]:
    """The spacing of a super-packet's wire packets at 10 Mbit/s, where they arrive one by one, each after the time that
    the line takes to send it."""
    trains = 60 if (place.seconds or 60) >= 10 else 10
    path: dict[str, int | str] = {"rate_bps": SPACING_BPS, "framing": "l2"}
    with (
        box(pair, MTU, path, place.scratch, place.ledger),
        captured(place, [pair.receiver], numbered.FILTER) as capture,
    ):
        numbered.send_trains(pair, trains, PARTS, PAYLOAD)
        numbered.wait_quiet(pair)
    found, row = numbered.numbers(capture.points[0], PAYLOAD)
    t_ns, wanted_ns = capture.points[0].t_ns[row], (PAYLOAD + numbered.UDP_HEADERS) * 8e9 / SPACING_BPS
    if not np.array_equal(found, np.arange(trains * PARTS)):
        raise LfpError(
            f"delay.accuracy: {trains * PARTS} packets were sent at 10 Mbit/s, {found.size} arrived in order"
        )
    errors_us = np.abs(np.diff(t_ns) - wanted_ns) / 1e3
    note = f"{errors_us.size} gaps of {wanted_ns / 1e3:.1f} us"
    yield Row(
        "spacing within super-packets at 10 Mbit/s, p90 error",
        "us",
        float(np.percentile(errors_us, 90)),
        0,
        SPACING_P90_US,
        note,
    )
