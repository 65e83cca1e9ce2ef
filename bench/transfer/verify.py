"""rttcp.verify: the cost of checking every octet, and the cost of TCP_INFO samples.

``rttcp.verify.veth``: throughput with --verify over throughput without, on a bare veth pair, where only the processors
limit the rate.

``rttcp.verify.rtt498``: the same on a 10 Gbit/s path of RTT 498 ms, with every session through the same comet-delay.
The largest possible window, 511 MB, gives 8.6 Gbit/s. That is less than path and queue hold, so no packet is lost.
Reno, whose slow start has no early exit, reaches that rate after 8 s every time. CUBIC's slow start exits at a
different point each time.

``rttcp.samples``: the sender's CPU time per byte with a TCP_INFO sample every 10 ms, divided by the one without, on the
pair. Throughput cannot show a cost below 1 %, because it varies by more than that between sessions. CPU time per byte
varies less. Many short pairs, of which every other one begins with the other side, remove most of that variation.
Samples every millisecond cost ten times as much as those every 10 ms, so a tenth of the measured difference is the
figure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.registry import Bench, Place, Result
from bench.transfer.pairs import alternating, cpu_ns_a_byte
from bench.two_hosts import box
from scenarios.network.host_pair import MTU, Hosts, hosts, veth
from scenarios.run.rttcp_session import session

PAIRS, SECONDS = 5, 5
SAMPLE_PAIRS, SAMPLE_SECONDS, SAMPLE_NS, SAMPLES_MORE = 20, 1, 1_000_000, 10
LONG_PAIRS, LONG_SECONDS, LONG_WARM_UP_S = 3, 30, 15
# With the 311 MB of the path the box prefaults 1.1 GB. In a virtual machine that used the memory for the first time,
# 2.7 GB took 19 s.
LONG_FLOW: dict[str, Any] = {"congestion": "reno", "window_bytes": 511 << 20}
LONG_PATH = {"delay_ns": 249_000_000, "rate_bps": 10_000_000_000, "queue_bytes": 256 << 20}


def _steady(pair: Hosts, place: Place, seconds: int, warm_up_s: int = 1, **options: Any) -> float:
    end = session(pair, place.ledger, seconds, omit_ns=warm_up_s * 10**9, **options)
    return float(end.summary.steady_bps)


def _long(pair: Hosts, place: Place, **options: Any) -> float:
    return _steady(pair, place, place.seconds or LONG_SECONDS, LONG_WARM_UP_S, **LONG_FLOW, **options)


def _samples(pair: Hosts, place: Place) -> Result:
    """Measures pairs with and without samples every SAMPLE_NS. `ours` gets a SAMPLES_MORE-th of the measured cost: that
    of samples SAMPLES_MORE times as far apart."""
    options: dict[str, Any] = {"samples": place.scratch / "samples.jsonl", "sample_ns": SAMPLE_NS}

    def cost(**more: Any) -> float:
        return cpu_ns_a_byte(session(pair, place.ledger, SAMPLE_SECONDS, **more).sender)

    dense = alternating("rttcp.samples 1ms", "ns/B", place.pairs or SAMPLE_PAIRS, place, cost, lambda: cost(**options))
    pairs = [p | {"ours": p["base"] + (p["ours"] - p["base"]) / SAMPLES_MORE} for p in dense.pairs]
    return Result("rttcp.samples", "ns/B", "without", pairs, extra={"ratio_at_1ms": dense.ratio})


def measure(place: Place) -> Iterator[Result]:
    """Five pairs on the veth pair, twenty short pairs for the samples, and three pairs on the long path."""
    seconds = place.seconds or SECONDS
    with hosts(place.ledger) as pair:
        with veth(pair, MTU):
            yield alternating(
                "rttcp.verify.veth",
                "bit/s",
                place.pairs or PAIRS,
                place,
                lambda: _steady(pair, place, seconds),
                lambda: _steady(pair, place, seconds, verify=True),
            )
            yield _samples(pair, place)
        with box(pair, MTU, LONG_PATH, place.scratch, place.ledger):
            yield alternating(
                "rttcp.verify.rtt498",
                "bit/s",
                place.pairs or LONG_PAIRS,
                place,
                lambda: _long(pair, place),
                lambda: _long(pair, place, verify=True),
            )


BENCH = Bench("rttcp.verify", "cost of --verify on a veth pair and at RTT 498 ms, and of TCP_INFO at 10 ms", measure)
