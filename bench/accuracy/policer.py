"""delay.accuracy, policer: which packets of a burst a token bucket lets through.

A super-packet arrives at one time, so of each the first packets pass, as many as the full bucket holds. The next one is
sent when the bucket is full again.
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


def bucket(pair: Hosts, place: Place) -> Iterator[Row]:
    """Packets whose fate is another than the bucket's depth says."""
    trains = 60 if (place.seconds or 60) >= 10 else 10
    aqm = f"policer:rate={RATE_BPS}bit,burst={HELD * PACKET_BITS // 8}"
    with (
        box(pair, MTU, {"aqm": aqm, "framing": "l2"}, place.scratch, place.ledger),
        captured(place, [pair.receiver], numbered.FILTER) as capture,
    ):
        for _ in range(trains):
            numbered.send_trains(pair, 1, PARTS, PAYLOAD)
            time.sleep(2 * HELD * PACKET_BITS / RATE_BPS)
        numbered.wait_quiet(pair)
    found, _ = numbered.numbers(capture.points[0], PAYLOAD)
    passed = np.bincount(found, minlength=PARTS)
    wrong = int(np.abs(passed - np.where(np.arange(PARTS) < HELD, trains, 0)).sum())
    yield Row(f"policer with a bucket of {HELD} packets, wrong fates", "packets", wrong, 0, 0, f"of {trains * PARTS}")
