"""rttcp.verify: what checking every octet costs, and what TCP_INFO samples cost.

``rttcp.verify.veth``: with --verify over without, on a bare veth pair, where nothing but the processors sets the rate.
``rttcp.verify.rtt498``: the same on a 10 Gbit/s path of RTT 498 ms through comet-delay.
``rttcp.samples``: with a TCP_INFO sample every 10 ms over without, on the veth pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from scenarios.bench.registry import Bench, Place, Result, scaled
from scenarios.bench.rttcp_load import session
from scenarios.bench.two_hosts import MTU, Hosts, box, hosts, veth

PAIRS, SECONDS = 5, 5
LONG_SECONDS, LONG_WARM_UP_S = 30, 15
LONG_PATH = {"delay_ns": 249_000_000, "rate_bps": 10_000_000_000, "queue_bytes": 1 << 30}


def _pairs(name: str, count: int, place: Place, base: Callable[[], float], ours: Callable[[], float]) -> Result:
    measured: list[dict[str, Any]] = []
    for number in range(1, count + 1):
        pair = {"base": base(), "ours": ours()}
        measured.append(pair)
        figures = f"without {scaled(pair['base'], 'bit/s')}, with {scaled(pair['ours'], 'bit/s')}"
        place.say(f"{name} {number}/{count}: {figures}, ratio {pair['ours'] / pair['base']:.3f}")
    return Result(name, "bit/s", "without", measured)


def _steady(pair: Hosts, place: Place, seconds: int, warm_up_s: int = 1, **options: Any) -> float:
    end = session(pair, place.ledger, seconds, omit_ns=warm_up_s * 10**9, **options)
    return float(end.summary.steady_bps)


def measure(place: Place) -> Iterator[Result]:
    """Five pairs each on the veth pair, one on the long path."""
    seconds = place.seconds or SECONDS
    count = place.pairs or PAIRS
    samples: dict[str, Any] = {"samples": place.scratch / "samples.jsonl", "sample_ns": 10_000_000}
    with hosts(place.ledger) as pair:
        with veth(pair, MTU):
            yield _pairs("rttcp.verify.veth", count, place, lambda: _steady(pair, place, seconds),
                         lambda: _steady(pair, place, seconds, verify=True))  # fmt: skip
            yield _pairs("rttcp.samples", count, place, lambda: _steady(pair, place, seconds),
                         lambda: _steady(pair, place, seconds, **samples))  # fmt: skip

        def through_the_box(**options: Any) -> float:
            with box(pair, MTU, LONG_PATH, place.scratch, place.ledger):
                return _steady(pair, place, place.seconds or LONG_SECONDS, LONG_WARM_UP_S, **options)

        yield _pairs("rttcp.verify.rtt498", place.pairs or 1, place, through_the_box,
                     lambda: through_the_box(verify=True))  # fmt: skip


BENCH = Bench("rttcp.verify", "cost of --verify on a veth pair and at RTT 498 ms, and of TCP_INFO at 10 ms", measure)
