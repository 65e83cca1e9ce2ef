"""delay.rtt20: one TCP stream through the box at RTT 20 ms against a bare veth pair, offloads on, MTU 1,500."""

from __future__ import annotations

from scenarios.bench.registry import Bench, Place, Result
from scenarios.bench.two_hosts import Load, against_veth


def measure(place: Place) -> Result:
    """Three pairs, 10 s each after a warm-up."""
    load = Load(seconds=10, warm_up_s=3)
    return against_veth("delay.rtt20", place, one_way_ns=10_000_000, base=load, ours=load, pairs=3)


BENCH = Bench("delay.rtt20", "one stream at RTT 20 ms, ratio to a bare veth pair", measure)
