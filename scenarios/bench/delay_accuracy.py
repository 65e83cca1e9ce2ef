"""delay.accuracy: does the box do what it was told? A table of measured figures beside what theory or the claim allows.

Nothing here is the box's own word: times are the kernel's at the sender's and the receiver's NIC, rates and losses are
of what arrived.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator

import numpy as np
from scipy.stats import binom

from netcommon.errors import LfpError
from netcommon.netns import call_in
from scenarios.bench.arrivals import Packets, captured
from scenarios.bench.registry import Bench, Place, Result, Row
from scenarios.bench.two_hosts import ADDRESSES, MTU, Hosts, box, hosts, iperf3, iperf3_result, received

DELAY_NS = 10_000_000
DELAY_LOADS = (("idle", 100), ("10 kpps", 10_000), ("100 kpps", 100_000))
DELAY_PAYLOAD_BYTES = 100
DELAY_MEDIAN_US, DELAY_P99_US = 20.0, 200.0  # what is claimed
RATES_BPS = (1_000_000, 45_000_000, 800_000_000, 5_000_000_000)
RATE_TOLERANCE = 0.001
WARM_UP_S = 3
LOSS_PPB = 100_000  # 0.01 %
LOSS_PACKETS = 10_000_000
TRAIN, DATAGRAM = 44, 1400  # wire packets of a super-packet, payload bytes of one
TRAINS_AT_ONCE = 64
UDP_HEADERS = 14 + 20 + 8
SOL_UDP, UDP_SEGMENT, UDP_GRO = 17, 103, 104


def delay_rows(pair: Hosts, place: Place) -> Iterator[Row]:
    """Error of the added delay with ``--poll 0 --spin 5ms``, at three packet rates."""
    path: dict[str, int | str] = {"delay_ns": DELAY_NS}
    for label, rate in DELAY_LOADS:
        with box(pair, MTU, path, place.scratch, place.ledger, poll_ns=0, spin_ns=5_000_000):
            options = ["--udp", "--length", str(DELAY_PAYLOAD_BYTES), "--bitrate", str(rate * DELAY_PAYLOAD_BYTES * 8)]
            options += ["--time", str(place.seconds or 10), "--pacing-timer", "100"]
            both = (pair.sender, pair.receiver)
            wanted = f"udp and dst host {ADDRESSES[1]} and greater {DELAY_PAYLOAD_BYTES}"
            with captured(place, both, wanted) as capture, iperf3(pair, place.ledger, *options) as stream:
                iperf3_result(stream, (place.seconds or 10) + 60.0)
        errors_us = delay_errors_ns(*capture.points) / 1e3
        note = f"{errors_us.size} packets"
        median, p99 = float(np.median(errors_us)), float(np.percentile(np.abs(errors_us), 99))
        yield Row(f"delay error, {label}, median", "us", median, -DELAY_MEDIAN_US, DELAY_MEDIAN_US, note)
        yield Row(f"delay error, {label}, p99", "us", p99, 0.0, DELAY_P99_US, note)


def delay_errors_ns(sent: Packets, arrived: Packets) -> np.ndarray:
    """Time from NIC to NIC less the delay, of every packet that arrived; iperf3's number in the packet joins them."""
    number = UDP_HEADERS + 8
    _, at_sender, at_receiver = np.intersect1d(sent.number_at(number), arrived.number_at(number), return_indices=True)
    if not at_sender.size:
        raise LfpError("delay.accuracy: no packet was seen at both ends")
    errors: np.ndarray = arrived.t_ns[at_receiver] - sent.t_ns[at_sender] - DELAY_NS
    return errors


def rate_rows(pair: Hosts, place: Place) -> Iterator[Row]:
    """The bottleneck's rate in the stretch that a TCP stream keeps it busy, from arrival times at the receiver."""
    seconds = place.seconds or 10
    for rate_bps in RATES_BPS:
        queue = max(256 << 10, rate_bps // 8 // 10)  # 100 ms of the line: what a busy sender may oversleep
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
        yield Row(f"rate {rate_bps / 1e6:g} Mbit/s", "bit/s", measured, low, high, f"over {over_s:.1f} s")


def line_rate_bps(packets: Packets, skip_s: float, seconds: float) -> tuple[float, float]:
    """bit/s on the line (link header and up) and the seconds it was measured over. A super-packet stands for its wire
    packets, each with headers of its own; the first packet only starts the clock."""
    header = 14 + (packets.data[:, 14] & 15).astype(np.int64) * 4 + (packets.data[:, 46] >> 4).astype(np.int64) * 4
    payload, segment = packets.length - header, MTU + 14 - header
    on_line = payload + header * -(-payload // segment)
    since = packets.t_ns - packets.t_ns[:1] - int(skip_s * 1e9)
    chosen = np.flatnonzero((since >= 0) & (since <= int(seconds * 1e9)))
    if chosen.size < 2:
        raise LfpError("delay.accuracy: too few packets arrived to tell a rate")
    over_s = float(packets.t_ns[chosen[-1]] - packets.t_ns[chosen[0]]) / 1e9
    return float(on_line[chosen[1:]].sum()) * 8 / over_s, over_s


def loss_rows(pair: Hosts, place: Place) -> Iterator[Row]:
    """Independent loss inside super-packets: wire packets lost of those sent."""
    trains = -(-LOSS_PACKETS // TRAIN)
    wanted = f"udp and dst host {ADDRESSES[1]} and greater 1000"
    with (
        box(pair, MTU, {"loss_ppb": LOSS_PPB}, place.scratch, place.ledger),
        captured(place, [pair.receiver], wanted) as capture,
    ):
        send_trains(pair, trains)
    sent, arrived = trains * TRAIN, int(((capture.points[0].length - UDP_HEADERS) // DATAGRAM).sum())
    low, high = binom.interval(0.99, sent, LOSS_PPB / 1e9)
    note = f"of {sent} wire packets, 99 % interval of the binomial"
    yield Row(f"loss {LOSS_PPB / 1e7:g} %", "packets", sent - arrived, float(low), float(high), note)


def send_trains(pair: Hosts, trains: int) -> None:
    """UDP super-packets as fast as the receiver's NIC takes them in: a TAP does not hold a sender back, and what
    overflows its ring would look like loss."""
    with (
        contextlib.closing(call_in(pair.receiver, _receiver)),
        contextlib.closing(call_in(pair.sender, _sender)) as out,
    ):
        before, train = received(pair)[0], bytes(TRAIN * DATAGRAM)
        for done in range(0, trains, TRAINS_AT_ONCE):
            for _ in range(min(TRAINS_AT_ONCE, trains - done)):
                out.send(train)
            _wait_received(pair, before + (done - 4 * TRAINS_AT_ONCE) * len(train))
        _wait_quiet(pair)


def _wait_received(pair: Hosts, octets: int, timeout_s: float = 10.0) -> None:
    """Until the receiver's NIC has taken in that much, less what was lost by then."""
    deadline = time.monotonic() + timeout_s
    while received(pair)[0] < octets:
        if time.monotonic() > deadline:
            raise LfpError("delay.accuracy: packets stay out that were not to be lost")
        time.sleep(0.0005)


def _wait_quiet(pair: Hosts, quiet_s: float = 0.5) -> None:
    """Until nothing has come in for a while: how much is still to come is what is being measured."""
    last, since = received(pair), time.monotonic()
    while time.monotonic() < since + quiet_s:
        time.sleep(0.02)
        if (now := received(pair)) != last:
            last, since = now, time.monotonic()


def _receiver() -> socket.socket:
    """Takes super-packets whole and is never read: its full buffer is the cheapest place for them to end."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(SOL_UDP, UDP_GRO, 1)
    sock.bind((ADDRESSES[1], 5202))
    return sock


def _sender() -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 << 20)
    sock.setsockopt(SOL_UDP, UDP_SEGMENT, DATAGRAM)
    sock.connect((ADDRESSES[1], 5202))
    return sock


def measure(place: Place) -> Iterator[Result]:
    """All rows, some two minutes; ``--seconds`` is how long each delay and rate is measured."""
    rows = []
    with hosts(place.ledger) as pair:
        for part in (delay_rows, rate_rows, loss_rows):
            for row in part(pair, place):
                place.say(f"delay.accuracy {row.what}: {row.measured:.6g} {row.unit} ({row.note})")
                rows.append(row)
    yield Result("delay.accuracy", "share of rows within bounds", None, rows=rows)


BENCH = Bench("delay.accuracy", "delay, rate and loss as measured outside the box, beside what theory allows", measure)
