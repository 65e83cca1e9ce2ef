"""delay.rtt20: one TCP stream through the box at RTT 20 ms, compared with a bare veth pair; offloads on, MTU 1,500."""

from __future__ import annotations

from collections.abc import Iterator

from bench.registry import Bench, Place, Result
from bench.two_hosts import Comparison, Load, stream_bps

COMPARISON = Comparison("delay.rtt20", {"delay_ns": 10_000_000}, pairs=3)


def measure(place: Place) -> Iterator[Result]:
    """Three pairs, 10 s each after a warm-up."""
    load = Load(seconds=place.seconds or 10, warm_up_s=3)
    yield COMPARISON.run(place, lambda pair: stream_bps(pair, load, place.ledger))


BENCH = Bench("delay.rtt20", "one stream at RTT 20 ms, ratio to a bare veth pair", measure)
