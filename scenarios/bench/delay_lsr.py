"""delay.lsr: the Land Speed Record's path as it was: 10 Gbit/s, RTT 498 ms, one TCP stream, MTU 1,500 and 9,000.

Without a base: the line's rate is the measure. ``--seconds 600`` is a record run.

Average after start-up: from START_UP_S after the stream was started, for so many seconds, what the receiver's NIC takes
in: payload, and headers once a super-packet (0.1 %). Slow start needs 15 to 16 doublings, 8 s, for the 622 MB that the
path holds; what is left of the 15 s is for a CUBIC that left slow start early. Not iperf3's own average: its clock at
the receiver goes on until the end is told there, a round trip later, which is a tenth of a 5 s run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from scenarios.bench.registry import Bench, Place, Result, scaled
from scenarios.bench.two_hosts import Hosts, Load, box, hosts, iperf3, non_model_drops, received

NAME = "delay.lsr"
PATH: dict[str, int | str] = {"delay_ns": 249_000_000, "rate_bps": 10**10}
START_UP_S = 15


def arriving_bps(pair: Hosts, load: Load, place: Place) -> float:
    """bit/s of one CUBIC stream at the receiver's NIC, in ``load.seconds`` after the warm-up."""
    options = ["--time", str(load.warm_up_s + load.seconds + 30), "--congestion", "cubic", "--length", "128K"]
    with iperf3(pair, place.ledger, *options):
        time.sleep(load.warm_up_s)
        started, before = time.monotonic(), received(pair)[0]
        time.sleep(load.seconds)
        ended, after = time.monotonic(), received(pair)[0]
    return (after - before) * 8 / (ended - started)


def measure(place: Place) -> Iterator[Result]:
    """A result for each MTU: average after start-up, and drops that are not the model's."""
    load = Load(seconds=place.seconds or 60, warm_up_s=START_UP_S)
    for mtu in (1500, 9000):
        pairs = []
        with hosts(place.ledger) as pair:
            for _ in range(place.pairs or 1):
                with box(pair, mtu, PATH, place.scratch, place.ledger) as tool:
                    bps = arriving_bps(pair, load, place)
                    drops = non_model_drops(tool)
                pairs.append({"ours": bps, "non_model_drops": drops})
                place.say(f"{NAME} MTU {mtu}: {scaled(bps, 'bit/s')}, {drops} drops that are not the model's")
        extra = {"mtu": mtu, "seconds": load.seconds, "non_model_drops": sum(p["non_model_drops"] for p in pairs)}
        yield Result(NAME, "bit/s", None, pairs, extra=extra)


BENCH = Bench(NAME, "one stream at 10 Gbit/s and RTT 498 ms, MTU 1,500 and 9,000, for 60 s (--seconds 600)", measure)
