"""delay.offloads_off: as delay.rtt20 with the hosts' offloads off: 1,500-byte packets, each on its own, both ways.

What a path costs when nothing comes as super-packets: the box's price a packet.
"""

from __future__ import annotations

from collections.abc import Iterator

from scenarios.bench.registry import Bench, Place, Result
from scenarios.bench.two_hosts import Comparison, Load, offloads_off, stream_bps

COMPARISON = Comparison("delay.offloads_off", {"delay_ns": 10_000_000}, pairs=3, prepare=offloads_off)


def measure(place: Place) -> Iterator[Result]:
    """Three pairs, 10 s each after a warm-up."""
    load = Load(seconds=place.seconds or 10, warm_up_s=3)
    yield COMPARISON.run(place, lambda pair: stream_bps(pair, load, place.ledger))


BENCH = Bench("delay.offloads_off", "one stream at RTT 20 ms without offloads, ratio to a bare veth pair", measure)
