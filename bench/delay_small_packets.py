"""delay.small_packets: the number of 64-byte UDP packets a second that arrive through the box, compared with a bare
veth pair.

iperf3 sends as fast as it can. Packets are counted at the receiver's NIC, so it does not matter how many of them a
socket buffer drops.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench.registry import Bench, Place, Result
from bench.two_hosts import Comparison, iperf3
from scenarios.network.host_pair import Hosts, received

PAYLOAD_BYTES = 18  # 64 bytes with the UDP, IP and Ethernet headers and the FCS
STREAMS = 2
WARM_UP_S = 1.0
COMPARISON = Comparison("delay.small_packets", {"delay_ns": 10_000_000}, pairs=3, unit="packet/s")


def packets_per_s(pair: Hosts, place: Place, seconds: int) -> float:
    """Packets a second at the receiver's NIC over ``seconds``, after a warm-up."""
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
