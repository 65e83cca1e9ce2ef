"""delay.accuracy, bunching: when the held packets leave, how long each waits, and how many leave together.

The box releases packets at the multiples of the period on CLOCK_MONOTONIC, called openings. So a packet that comes at a
random moment waits a time that is uniform on [0, period). Here packets are sent at a spacing of the golden ratio times
the period, which spreads their arrivals more evenly over the period than random times would.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bench.accuracy import numbered, theory
from bench.accuracy.arrivals import Packets, captured
from bench.accuracy.jitter import AWAKE
from bench.registry import Place, Row
from bench.two_hosts import box
from netcommon.errors import LfpError
from scenarios.network.host_pair import MTU, Hosts

PERIOD_NS = 5_000_000
SPACING_S = PERIOD_NS / 1e9 * (1 + 5**0.5) / 2
SECONDS = 10
PAYLOAD = 100
EXIT_US = 200.0  # the claimed accuracy of every departure
PARTS, PART_PAYLOAD, TRAINS, TOGETHER = 44, 1400, 12, 20
BUNCH_PERIOD_NS = 50_000_000
TAKEN_IN_NS = 100_000_000  # delay by whose end the box has read all trains; reading makes it late


def waits(pair: Hosts, place: Place) -> Iterator[Row]:
    """How far from a multiple of the period packets leave, and how far their waits are from uniform ones."""
    count = int(min(place.seconds or SECONDS, SECONDS) / SPACING_S)
    with (
        box(pair, MTU, {"bunch_ns": PERIOD_NS}, place.scratch, place.ledger, **AWAKE),
        captured(place, [pair.sender, pair.receiver], numbered.FILTER) as capture,
    ):
        numbered.send_spaced(pair, count, SPACING_S, PAYLOAD)
        numbered.wait_quiet(pair)
    sent, arrived = capture.points
    for point in (sent, arrived):
        if not np.array_equal(point.number_at(numbered.UDP_HEADERS), np.arange(count)):
            raise LfpError(f"delay.accuracy: {count} packets were sent, {point.t_ns.size} passed in order; busy?")
    beside_us = np.abs(_since_opening_ns(arrived)) / 1e3
    name, p99 = f"bunching every {PERIOD_NS / 1e6:g} ms", float(np.percentile(beside_us, 99))
    yield Row(f"{name}, distance of the exit from the opening, p99", "us", p99, 0, EXIT_US, f"{count} packets")
    uniform = stats.uniform(0, PERIOD_NS)
    distance = float(stats.kstest(arrived.t_ns - sent.t_ns, uniform.cdf).statistic)
    note = f"from waits uniform on the period; {count} packets"
    yield Row(f"{name}, waits, Kolmogorov–Smirnov", "", distance, 0, theory.largest_distance(count), note)


def together(pair: Hosts, place: Place) -> Iterator[Row]:
    """Whether each bunch of waiting packets leaves at its own opening: if more left at once, some would leave before
    their opening; if fewer left, the rest would be late. A single delay on a busy machine counts as neither of these
    errors."""
    path: dict[str, int | str] = {"delay_ns": TAKEN_IN_NS, "bunch_ns": BUNCH_PERIOD_NS, "bunch_packets": TOGETHER}
    with (
        box(pair, MTU, path, place.scratch, place.ledger, **AWAKE),
        captured(place, [pair.receiver], numbered.FILTER) as capture,
    ):
        sent = numbered.send_trains(pair, TRAINS, PARTS, PART_PAYLOAD)
        numbered.wait_quiet(pair)
    found, row = numbered.numbers(capture.points[0], PART_PAYLOAD)
    if not np.array_equal(found, np.arange(sent)):
        raise LfpError(f"delay.accuracy: {sent} packets were sent, {found.size} arrived in order; is the machine busy?")
    exits_ns, bunch = capture.points[0].t_ns[row] - _ahead_ns(), np.arange(sent) // TOGETHER
    opening = int(np.median(np.round(exits_ns / BUNCH_PERIOD_NS) - bunch))  # when the first bunch left, by most packets
    late_us = (exits_ns - (opening + bunch) * BUNCH_PERIOD_NS) / 1e3
    name, note = f"bunches of {TOGETHER} packets", f"{sent} wire packets of super-packets"
    yield Row(f"{name}, before their opening", "packets", int((late_us < 0).sum()), 0, 0, note)
    beside_us = float(np.percentile(np.abs(late_us), 90))
    yield Row(f"{name}, distance of the exit from their opening, p90", "us", beside_us, 0, EXIT_US, note)


def _since_opening_ns(packets: Packets) -> NDArray[np.int64]:
    """Distance from the nearest multiple of the period; negative before it."""
    half = PERIOD_NS // 2
    since: NDArray[np.int64] = (packets.t_ns - _ahead_ns() + half) % PERIOD_NS - half
    return since


def _ahead_ns() -> int:
    """How far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC, read with the least pause in between."""
    tries = []
    for _ in range(10):
        before, realtime, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        tries.append((after - before, realtime - (before + after) // 2))
    return min(tries)[1]
