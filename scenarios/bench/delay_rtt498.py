"""delay.rtt498: one TCP stream at RTT 498 ms (the Land Speed Record's path), bit/s after start-up and stray drops.

The base is a bare veth pair in the same run: what this machine moves without any delay.
"""

from __future__ import annotations

from scenarios.bench.registry import Bench, Place, Result
from scenarios.bench.two_hosts import Load, against_veth


def measure(place: Place) -> Result:
    """One pair, 60 s through the box after slow start, which alone takes some 15 round trips."""
    base, ours = Load(seconds=10, warm_up_s=3), Load(seconds=60, warm_up_s=15)
    return against_veth("delay.rtt498", place, one_way_ns=249_000_000, base=base, ours=ours, pairs=1)


BENCH = Bench("delay.rtt498", "one stream at RTT 498 ms for 60 s, and drops that are not the model's", measure)
