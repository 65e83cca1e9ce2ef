"""The effects of a path through the box on real packets, compared with theory."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from comet_box import LEFT, LEFT6, RIGHT, RIGHT6, Box, Hosts, in_netns, introduce, iperf3_server, two_hosts
from path_measures import HEADERS, PACKET_BITS, round_trips_ms, train_arrivals
from scipy.stats import binom
from support.witness import Witness
from udp_trains import DATAGRAM, TRAIN, Trains

pytestmark = pytest.mark.netns


@contextmanager
def trains(hosts: Hosts) -> Iterator[Trains]:
    both = Trains(hosts.left, hosts.right, RIGHT)
    try:
        introduce(hosts)
        yield both
    finally:
        both.close()


@pytest.mark.alone
def test_round_trip_is_twice_the_delay() -> None:
    """Takes the fastest of 200, because a busy machine may delay each of a round trip's four wake-ups.
    test_comet_delay_exact.py measures it in virtual time, and `lfp bench` gives the median on this machine."""
    with Witness(tolerates_ms=0.1) as witness:
        rtt_ms = np.array(round_trips_ms(delay="4.2ms"))
    assert len(rtt_ms) == 200 and rtt_ms.min() >= 8.4, rtt_ms
    witness.at_most(float(rtt_ms.min()), 8.5, "ms", "fastest round trip")


def test_directions_are_independent() -> None:
    with two_hosts() as hosts, Box(hosts, ab_delay="10ms", ba_delay="0ms", ba_loss="100%"):
        lost = subprocess.run(
            ["ip", "netns", "exec", hosts.left, "ping", "-c", "2", "-W", "1", "-i", "0.2", RIGHT], capture_output=True
        )
        assert lost.returncode == 1  # nothing comes back…
    with two_hosts() as hosts, Box(hosts, ab_delay="10ms") as box:
        text = in_netns(hosts.left, "ping", "-c", "5", "-i", "0.05", RIGHT)
        assert min(float(value) for value in re.findall(r"time=([\d.]+) ms", text)) >= 10
        assert box.show()["parameters"]["ba"]["delay_ns"] == 0


def test_loss_is_binomial_and_independent_within_super_packets() -> None:
    packets, share = 400_000, 0.01
    with two_hosts() as hosts, Box(hosts, ab_loss="1%") as box, trains(hosts) as udp:
        lost = ~udp.arrived(packets, quiet_s=0.01)
        statistics = box.stop()["statistics"]["ab"]
    low, high = binom.interval(0.99, lost.size, share)
    assert low <= lost.sum() <= high, f"{lost.sum()} of {lost.size} lost, want {low}…{high}"
    assert statistics["drops"]["loss"] >= lost.sum() >= statistics["drops"]["loss"] - 3  # neighbour discovery of IPv6
    assert statistics["in_frames"] < statistics["in_packets"] / 20, "packets did not come as super-packets"

    inside = lost.reshape(-1, TRAIN)
    neighbours = int((inside[:, 1:] & inside[:, :-1]).sum())
    low, high = binom.interval(0.99, inside[:, 1:].size, share**2)
    assert low <= neighbours <= high, f"{neighbours} neighbouring losses, want {low}…{high}"


def test_same_seed_same_fate() -> None:
    """Whatever the number of threads."""
    fates = []
    for seed, threads in (("7", "1"), ("7", "2"), ("8", "1")):
        with two_hosts() as hosts, Box(hosts, ab_loss="5%", seed=seed, threads=threads), trains(hosts) as udp:
            in_netns(hosts.left, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
            fates.append(~udp.arrived(44_000, quiet_s=0.02))
    assert fates[0].sum() and (fates[0] != fates[2]).any()
    # packet numbers count everything that crosses, so stray neighbour discovery may shift the sequence by a few
    same = max((np.roll(fates[0], shift) == fates[1]).mean() for shift in range(-12, 13))
    assert same > 0.999


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_busy_box_keeps_the_order_of_packets_that_come_one_by_one(threads: str) -> None:
    """Without offloads, so that the box has to hand the receiver's stack to another processor."""
    with two_hosts() as hosts, Box(hosts, delay="5ms", threads=threads) as box, sending_alone(hosts):
        streams = ["-c", RIGHT, "-t", "2", "-C", "reno", "-J"]
        done = json.loads(in_netns(hosts.left, "iperf3", *streams))
        ab = box.stop()["statistics"]["ab"]
        reordered = {name: int(n) for name, n in re.findall(r"(TcpExtTCP\w*Reorder)\s+(\d+)", counters(hosts.left))}
    assert done["end"]["sum_received"]["bytes"] > 10_000_000
    assert ab["in_frames"] == ab["in_packets"], "packets came as super-packets"
    assert sum(reordered.values()) == 0, reordered
    assert ab["drops"] == dict.fromkeys(ab["drops"], 0)


@contextmanager
def sending_alone(hosts: Hosts) -> Iterator[None]:
    """Offloads off at both hosts; an iperf3 server at the right one."""
    for netns in (hosts.left, hosts.right):
        in_netns(netns, "ethtool", "-K", "wan", "tso", "off", "gso", "off", "gro", "off")
    with iperf3_server(hosts.right):
        yield


def counters(netns: str) -> str:
    """Every TCP counter of the namespace since its creation."""
    return in_netns(netns, "nstat", "-asz")


@pytest.mark.alone
def test_at_a_low_rate_packets_of_a_super_packet_are_spaced_by_their_serialisation_time() -> None:
    with Witness(tolerates_ms=0.1) as witness:
        found = train_arrivals(trains=4, ab_rate="10Mbit")
    assert found["numbers"] == list(range(4 * TRAIN))
    error_ns = np.abs(np.diff(np.array(found["times_ns"])) - PACKET_BITS / 10e6 * 1e9)
    witness.at_most(float(np.percentile(error_ns, 90)) / 1e3, 100, "us", "error of the spacing, p90,")


def test_rate_and_queue_are_kept() -> None:
    """A train that does not fit the queue: exactly the packets that theory lets through arrive."""
    queue_bytes = 30 * (DATAGRAM + HEADERS)
    with two_hosts() as hosts, Box(hosts, ab_rate="20Mbit", ab_queue=str(queue_bytes)) as box, trains(hosts) as udp:
        in_netns(hosts.left, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
        udp.send(1)
        numbers, _ = udp.receive(quiet_s=0.3, expected=30)
        ab = box.stop()["statistics"]["ab"]
    assert numbers == list(range(30))
    assert ab["drops"]["queue"] == TRAIN - 30
    assert ab["queue_peak_bytes"] == queue_bytes


def test_the_path_is_transparent() -> None:
    with two_hosts() as hosts, Box(hosts, delay="1ms") as box:
        in_netns(hosts.left, "ping", "-6", "-c", "2", "-i", "0.1", RIGHT6)
        in_netns(hosts.right, "ping", "-6", "-c", "2", "-i", "0.1", LEFT6)
        in_netns(hosts.right, "ping", "-c", "2", "-i", "0.1", "-s", "4000", LEFT)  # fragments
        neighbours = in_netns(hosts.left, "ip", "neigh", "show", "dev", "wan")
        assert RIGHT6 in neighbours
        end = box.stop()
        assert end["verdict"]["reasons"] == [] or all("late" in reason for reason in end["verdict"]["reasons"])


def test_tcp_keeps_its_offloads_and_arrives_whole() -> None:
    with two_hosts() as hosts, Box(hosts, delay="5ms") as box:
        with iperf3_server(hosts.right) as server:
            text = in_netns(hosts.left, "iperf3", "-c", RIGHT, "-n", "200M", "-C", "cubic")
            server.wait(timeout=30)
        assert "receiver" in text
        deadline, seen = time.monotonic() + 30, -1
        while seen != (ab := box.show()["statistics"]["ab"])["in_packets"] or ab["held_bytes"]:
            assert time.monotonic() < deadline
            seen = ab["in_packets"]
            time.sleep(0.2)  # twenty round trips: an end that is still closing a connection would have sent something
        ab = box.stop()["statistics"]["ab"]
    assert ab["in_frames"] < ab["in_packets"] / 4
    assert ab["in_packets"] == ab["out_packets"]
    assert ab["in_bytes"] == ab["out_bytes"] > 200 << 20
