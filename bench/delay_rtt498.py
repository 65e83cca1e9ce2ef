"""delay.rtt498: one TCP stream at RTT 498 ms (the path of the Land Speed Record): its rate after start-up, and drops
that are not the model's.

The base is a bare veth pair in the same run, which shows the rate of this machine without any delay.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.registry import Bench, Place, Result
from bench.two_hosts import Comparison, Load, stream_bps

COMPARISON = Comparison("delay.rtt498", {"delay_ns": 249_000_000}, pairs=1)


def measure(place: Place) -> Iterator[Result]:
    """One pair. The stream through the box is measured for 60 s after slow start, which takes about 15 round trips."""
    base, ours = Load(seconds=10, warm_up_s=3), Load(seconds=place.seconds or 60, warm_up_s=15)
    yield COMPARISON.run(
        place, lambda pair: stream_bps(pair, base, place.ledger), lambda pair: stream_bps(pair, ours, place.ledger)
    )


BENCH = Bench("delay.rtt498", "one stream at RTT 498 ms for 60 s, and drops that are not the model's", measure)
