"""delay.accuracy: which packets of a burst the receiver's buffer holds, and which a token bucket lets through.

A super-packet arrives at one time. So the first packets of each super-packet pass: as many as the drain's buffer holds,
or as many as the policer's full bucket has tokens for. The next one is sent when the bus has taken the burst, or the
bucket is full again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from bench.accuracy import numbered
from bench.accuracy.arrivals import Packets, captured
from bench.registry import Place, Row
from bench.two_hosts import box
from scenarios.network.host_pair import MTU, Hosts

RATE_BPS = 10_000_000
PARTS, HELD, PAYLOAD = 44, 20, 1400
PACKET_BITS = 8 * (PAYLOAD + numbered.UDP_HEADERS)
HELD_BYTES = HELD * PACKET_BITS // 8
SPACING_P90_US = 100.0  # the claimed accuracy of every spacing


def bus(pair: Hosts, place: Place) -> Iterator[Row]:
    """The number of packets whose fate contradicts the buffer's size, and the error of the spacing of those that
    pass."""
    path: dict[str, int | str] = {"drain_rate_bps": RATE_BPS, "drain_buffer_bytes": HELD_BYTES}
    arrived, fates = _sent(pair, place, path, f"drain of {HELD} packets")
    yield fates
    found, row = numbered.numbers(arrived, PAYLOAD)
    wanted_ns = PACKET_BITS * 1e9 / RATE_BPS
    gaps_ns = np.diff(arrived.t_ns[row])[np.diff(found) == 1]
    error_us = float(np.percentile(np.abs(gaps_ns - wanted_ns), 90)) / 1e3
    note = f"{gaps_ns.size} gaps of {wanted_ns / 1e3:.1f} us"
    yield Row(f"drain at {RATE_BPS / 1e6:g} Mbit/s, spacing, p90 error", "us", error_us, 0, SPACING_P90_US, note)


def bucket(pair: Hosts, place: Place) -> Iterator[Row]:
    """The number of packets whose fate contradicts the bucket's depth."""
    path: dict[str, int | str] = {"aqm": f"policer:rate={RATE_BPS}bit,burst={HELD_BYTES}"}
    yield _sent(pair, place, path, f"policer with a bucket of {HELD} packets")[1]


def _sent(pair: Hosts, place: Place, path: dict[str, int | str], what: str) -> tuple[Packets, Row]:
    """Sends the bursts. Returns the packets that arrived, and the row of those whose fate is wrong."""
    trains = 60 if (place.seconds or 60) >= 10 else 10
    with (
        box(pair, MTU, path | {"framing": "l2"}, place.scratch, place.ledger),
        captured(place, [pair.receiver], numbered.FILTER) as capture,
    ):
        for _ in range(trains):
            numbered.send_trains(pair, 1, PARTS, PAYLOAD)
            time.sleep(2 * HELD * PACKET_BITS / RATE_BPS)
        numbered.wait_quiet(pair)
    (arrived,) = capture.points
    passed = np.bincount(numbered.numbers(arrived, PAYLOAD)[0], minlength=PARTS)
    wrong = int(np.abs(passed - np.where(np.arange(PARTS) < HELD, trains, 0)).sum())
    return arrived, Row(f"{what}, wrong fates", "packets", wrong, 0, 0, f"of {trains * PARTS}")
