"""delay.lsr: the Land Speed Record's path as it was: 10 Gbit/s, RTT 498 ms, one TCP stream, MTU 1,500 and 9,000.

Without a base: the line's rate is the measure. ``--seconds 600`` is a record run.
"""

from __future__ import annotations

from collections.abc import Iterator

from scenarios.bench.registry import Bench, Place, Result, scaled
from scenarios.bench.two_hosts import Load, box, hosts, non_model_drops, stream_bps

NAME = "delay.lsr"
PATH: dict[str, int | str] = {"delay_ns": 249_000_000, "rate_bps": 10**10}
START_UP_S = 15  # slow start alone takes some 15 round trips


def measure(place: Place) -> Iterator[Result]:
    """A result for each MTU: average after start-up, and drops that are not the model's."""
    load = Load(seconds=place.seconds or 60, warm_up_s=START_UP_S)
    for mtu in (1500, 9000):
        pairs = []
        with hosts(place.ledger) as pair:
            for _ in range(place.pairs or 1):
                with box(pair, mtu, PATH, place.scratch, place.ledger) as tool:
                    bps = stream_bps(pair, load, place.ledger)
                    drops = non_model_drops(tool)
                pairs.append({"ours": bps, "non_model_drops": drops})
                place.say(f"{NAME} MTU {mtu}: {scaled(bps, 'bit/s')}, {drops} drops that are not the model's")
        extra = {"mtu": mtu, "seconds": load.seconds, "non_model_drops": sum(p["non_model_drops"] for p in pairs)}
        yield Result(NAME, "bit/s", None, pairs, extra=extra)


BENCH = Bench(NAME, "one stream at 10 Gbit/s and RTT 498 ms, MTU 1,500 and 9,000, for 60 s (--seconds 600)", measure)
