"""delay.accuracy, drain: which packets of a burst the receiver's buffer holds, and how its bus spaces them.

Each super-packet arrives at the drain as a burst that is longer than the buffer. The next one is sent when the bus has
taken the burst, so of each burst the first packets pass, as many as the buffer holds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from bench.accuracy import numbered
from bench.accuracy.arrivals import captured
from bench.registry import Place, Row
from bench.two_hosts import box
from scenarios.network.host_pair import MTU, Hosts

RATE_BPS = 10_000_000
PARTS, HELD, PAYLOAD = 44, 20, 1400
PACKET_BITS = 8 * (PAYLOAD + numbered.UDP_HEADERS)
SPACING_P90_US = 100.0  # what is claimed of every spacing


def bus(pair: Hosts, place: Place) -> Iterator[Row]:
    """Packets whose fate is another than the buffer's size says, and the error of the spacing of those that pass."""
    trains = 60 if (place.seconds or 60) >= 10 else 10
    path: dict[str, int | str] = {"drain_rate_bps": RATE_BPS, "drain_buffer_bytes": HELD * PACKET_BITS // 8}
    path["framing"] = "l2"
    with (
        box(pair, MTU, path, place.scratch, place.ledger),
        captured(place, [pair.receiver], numbered.FILTER) as capture,
    ):
        for _ in range(trains):
            numbered.send_trains(pair, 1, PARTS, PAYLOAD)
            time.sleep(2 * HELD * PACKET_BITS / RATE_BPS)
        numbered.wait_quiet(pair)
    found, row = numbered.numbers(capture.points[0], PAYLOAD)
    passed = np.bincount(found, minlength=PARTS)
    wrong = int(np.abs(passed - np.where(np.arange(PARTS) < HELD, trains, 0)).sum())
    yield Row(f"drain of {HELD} packets, wrong fates", "packets", wrong, 0, 0, f"of {trains * PARTS}")
    wanted_ns = PACKET_BITS * 1e9 / RATE_BPS
    gaps_ns = np.diff(capture.points[0].t_ns[row])[np.diff(found) == 1]
    error_us = float(np.percentile(np.abs(gaps_ns - wanted_ns), 90)) / 1e3
    note = f"{gaps_ns.size} gaps of {wanted_ns / 1e3:.1f} us"
    yield Row(f"drain at {RATE_BPS / 1e6:g} Mbit/s, spacing, p90 error", "us", error_us, 0, SPACING_P90_US, note)
