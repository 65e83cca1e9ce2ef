"""``rttcp.pace``: how much pacing by bursts of writes saves, compared with the kernel's timer for each packet.

Both ways keep 6 Gbit/s on a bare veth pair, so a second of either does the same. The figure is the CPU time of both
ends per byte; timer interrupts that hit other processes are not included.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.registry import Bench, Place, Result
from bench.transfer.pairs import alternating, cpu_ns_a_byte
from scenarios.network.host_pair import Hosts, hosts, veth
from scenarios.run.rttcp_session import session

PAIRS, SECONDS, MTU = 5, 4, 9000
PACED: dict[str, Any] = {"pace_bps": 6_000_000_000, "length_bytes": 128 << 10, "congestion": "cubic"}
BURST_BYTES = 1 << 20


def _cost(pair: Hosts, place: Place, **options: Any) -> float:
    end = session(pair, place.ledger, place.seconds or SECONDS, **PACED, **options)
    return cpu_ns_a_byte(end.sender) + cpu_ns_a_byte(end.receiver)


def measure(place: Place) -> Iterator[Result]:
    """Five pairs on the veth pair."""
    with hosts(place.ledger) as pair, veth(pair, MTU):
        yield alternating(
            "rttcp.pace",
            "ns/B",
            place.pairs or PAIRS,
            place,
            lambda: _cost(pair, place),
            lambda: _cost(pair, place, pace_burst_bytes=BURST_BYTES),
        )


BENCH = Bench("rttcp.pace", "CPU time of a stream paced by bursts of writes, against the kernel's pacing", measure)
