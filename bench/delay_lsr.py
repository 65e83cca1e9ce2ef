"""delay.lsr: the path of the Land Speed Record: 10 Gbit/s, RTT 498 ms, one TCP stream, MTU 1,500 and 9,000.

There is no base: the figure is compared with the line's rate. ``--seconds 600`` is a record run.

The figure is the average after start-up. It begins START_UP_S after the start of the stream and counts the bytes that
the receiver's NIC takes in: payload, and headers once for each super-packet (0.1 %). Slow start needs 15 to 16
doublings, 8 s, for the 622 MB that the path holds. The rest of the 15 s is for a CUBIC that left slow start early.
Rejected: iperf3's own average. Its clock at the receiver stops a round trip late, when the end is announced there. That
is a tenth of a run of 5 s.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench.registry import Bench, Place, Result, scaled
from bench.two_hosts import Load, box, iperf3, non_model_drops
from scenarios.network.host_pair import Hosts, hosts, received

NAME = "delay.lsr"
PATH: dict[str, int | str] = {"delay_ns": 249_000_000, "rate_bps": 10**10}
START_UP_S = 15


def arriving_bps(pair: Hosts, load: Load, place: Place) -> float:
    """The rate of one CUBIC stream at the receiver's NIC, bit/s, over ``load.seconds`` after the warm-up."""
    options = ["--time", str(load.warm_up_s + load.seconds + 30), "--congestion", "cubic", "--length", "128K"]
    with iperf3(pair, place.ledger, *options):
        time.sleep(load.warm_up_s)
        started, before = time.monotonic(), received(pair)[0]
        time.sleep(load.seconds)
        ended, after = time.monotonic(), received(pair)[0]
    return (after - before) * 8 / (ended - started)


def measure(place: Place) -> Iterator[Result]:
    """A result for each MTU: the average after start-up, and the drops that are not the model's."""
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
