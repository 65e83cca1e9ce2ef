"""delay.offloads_off: delay.rtt20 with the hosts' offloads off, so that every 1,500-byte packet travels on its own.

It shows the cost of a path without super-packets, which is the box's cost for each packet.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.registry import Bench, Place, Result
from bench.two_hosts import Comparison, Load, stream_bps
from scenarios.network.host_pair import offloads_off

COMPARISON = Comparison("delay.offloads_off", {"delay_ns": 10_000_000}, pairs=3, prepare=offloads_off)


def measure(place: Place) -> Iterator[Result]:
    """Three pairs, 10 s each after a warm-up."""
    load = Load(seconds=place.seconds or 10, warm_up_s=3)
    yield COMPARISON.run(place, lambda pair: stream_bps(pair, load, place.ledger))


BENCH = Bench("delay.offloads_off", "one stream at RTT 20 ms without offloads, ratio to a bare veth pair", measure)
