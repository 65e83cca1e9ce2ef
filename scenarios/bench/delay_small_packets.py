"""delay.small_packets: 64-byte UDP packets a second that arrive through the box against a bare veth pair.

iperf3 sends as fast as it can; what arrives is counted at the receiver's NIC, so what a socket buffer drops behind it
does not matter.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from scenarios.bench.registry import Bench, Place, Result
from scenarios.bench.two_hosts import Comparison, Hosts, iperf3, received

PAYLOAD_BYTES = 18  # with UDP, IP and Ethernet headers and the FCS 64
STREAMS = 2
WARM_UP_S = 1.0
COMPARISON = Comparison("delay.small_packets", {"delay_ns": 10_000_000}, pairs=3, unit="packet/s")


def packets_per_s(pair: Hosts, place: Place, seconds: int) -> float:
    """Over ``seconds``, after a warm-up."""
    options = ["--udp", "--length", str(PAYLOAD_BYTES), "--bitrate", "0", "--parallel", str(STREAMS)]
    with iperf3(pair, place.ledger, *options, "--time", str(seconds + 5)):
        time.sleep(WARM_UP_S)
        started, before = time.monotonic(), received(pair)[1]
        time.sleep(seconds)
        after, ended = received(pair)[1], time.monotonic()
    return (after - before) / (ended - started)


def measure(place: Place) -> Iterator[Result]:
    """Three pairs, 5 s each."""
    seconds = place.seconds or 5
    yield COMPARISON.run(place, lambda pair: packets_per_s(pair, place, seconds))


BENCH = Bench("delay.small_packets", "64-byte packets a second, ratio to a bare veth pair", measure)
