"""Measurements of the delay box's effects on packets: called on the real machine and in virtual time (support.virtual).

Functions take and return what JSON can carry; ``options`` are those of the box.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any

import echo_requests
from attach_lab import AttachedBox, attach_lab
from comet_box import RIGHT, Box, Hosts, in_netns, introduce, two_hosts
from udp_trains import DATAGRAM, TRAIN, Trains

from comet_delay import Control

HEADERS = 14 + 20 + 8  # Ethernet, IPv4, UDP
PACKET_BITS = 8 * (DATAGRAM + HEADERS)  # of a train, on a line


def echo_ms(hosts: Hosts, count: int, interval_s: float) -> list[float]:
    """Round-trip times of echoes from left to right, after a ping that resolves the address."""
    in_netns(hosts.left, "ping", "-c", "1", "-W", "10", RIGHT)
    return echo_requests.round_trips_ms(hosts.left, RIGHT, count, interval_s)


def round_trips_ms(count: int = 200, interval_s: float = 0.01, **options: str) -> list[float]:
    """Of a box between two TAPs."""
    with two_hosts() as hosts, Box(hosts, **options):
        return echo_ms(hosts, count, interval_s)


def attached_round_trips_ms(count: int = 200, interval_s: float = 0.01, **options: str) -> list[float]:
    """The same for a box on two veth pairs."""
    with attach_lab() as lab, AttachedBox(lab, **options):
        return echo_ms(lab, count, interval_s)


def round_trips_around_a_change_ms(change: dict[str, str], count: int = 10, **options: str) -> list[list[float]]:
    """Round-trip times before and after the running box gets new values."""
    with two_hosts() as hosts, Box(hosts, **options) as box, Control(box.socket) as control:
        before = echo_ms(hosts, count, 0.05)
        control.set(**{name.replace("-", "_"): value for name, value in change.items()})
        return [before, echo_ms(hosts, count, 0.05)]


def train_arrivals(trains: int = 4, **options: str) -> dict[str, Any]:
    """Super-packets sent at once: ``numbers`` and ``times_ns`` of the datagrams that arrived, and what the box says."""
    with two_hosts() as hosts, Box(hosts, **options) as box:
        introduce(hosts)
        with closing(Trains(hosts.left, hosts.right, RIGHT)) as udp:
            udp.send(trains)
            numbers, times_ns = udp.receive(quiet_s=0.5, expected=trains * TRAIN)
        shown = box.show()
    return {
        "numbers": numbers,
        "times_ns": times_ns,
        "verdict": shown["verdict"],
        "lateness": shown["statistics"]["ab"]["lateness"],
    }
