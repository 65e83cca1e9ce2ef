"""The behaviour of queue and line of both back ends of the delay box for packets sent at once. Called in virtual
time."""

from __future__ import annotations

import struct
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from comet_box import LEFT, RIGHT, Hosts, in_netns, introduce, ip, two_hosts
from raw_frames import RawSocket
from udp_trains import TRAIN, Trains

from comet_delay import Port
from comet_delay.backend import Box
from comet_delay.netem import NetemBox
from comet_delay.userspace import UserspaceBox

ACKS = Path(__file__).resolve().parents[1] / "captures/23-acks.pcap"
DATAGRAM = 1472  # payload whose packet is exactly as long as the MTU


def first_drops(cases: list[dict[str, Any]]) -> list[dict[str, int]]:
    """For each case, by back end, the number of the first dropped datagram, counted from 0: as many were queued before
    it. A case has the box's parameters of the direction, ``trains`` and ``granularity_ns``."""
    return [{name: _first_drop(name, **case) for name in ("netem", "comet")} for case in cases]


def short_frames(rate_bps: int, framing: str) -> dict[str, list[int]]:
    """By back end, the times at which 100 frames of 54 bytes arrive that were sent at once. Each is a copy of the first
    bare acknowledgement of the capture 23-acks, sent to all hosts with an Ethernet type that no host answers."""
    data = ACKS.read_bytes()
    (captured,) = struct.unpack_from("<I", data, 24 + 8)
    frame = bytes.fromhex("ffffffffffff 020000000001 88b5") + data[40 + 14 : 40 + captured]
    assert len(frame) == 54
    found = {}
    for name in ("netem", "comet"):
        with (
            two_hosts() as hosts,
            _box(name, hosts, 0, rate_bps=rate_bps, framing=framing),
            RawSocket(hosts.left, "wan") as sender,
            RawSocket(hosts.right, "wan") as receiver,
        ):
            for _ in range(100):
                sender.send(frame)
            times = []
            for _ in range(100):
                receiver.collect(1, frame[:14])
                times.append(time.monotonic_ns())
        found[name] = times
    return found


def _box(name: str, hosts: Hosts, granularity_ns: int, **ab: int | str) -> Box:
    ports, back = (Port("wan", hosts.left), Port("wan", hosts.right)), {"framing": ab["framing"]}
    if name == "netem":
        return NetemBox(*ports, ab=ab, ba=back, granularity_ns=granularity_ns)
    own = {"spin_ns": 0, "poll_ns": 0, "granularity_ns": granularity_ns, "memory_bytes": 64 << 20}
    return UserspaceBox(*ports, ab=ab, ba=back, box=own)


def _first_drop(name: str, trains: int, granularity_ns: int, **ab: int | str) -> int:
    with two_hosts() as hosts, _box(name, hosts, granularity_ns, **ab):
        for netns, address in ((hosts.left, LEFT), (hosts.right, RIGHT)):
            ip("-n", netns, "addr", "add", f"{address}/24", "dev", "wan")
        introduce(hosts)
        with closing(Trains(hosts.left, hosts.right, RIGHT, DATAGRAM)) as udp:
            udp.send(trains)
            arrived = set(udp.receive(quiet_s=1)[0])
    return next(number for number in range(trains * TRAIN + 1) if number not in arrived)


def arrivals_around_a_shorter_delay(name: str, before_ns: int, after_ns: int, apart_s: float) -> dict[str, Any]:
    """Sends a train of datagrams, shortens the delay ``apart_s`` later, and sends another train at once. Returns the
    datagrams' numbers in the order of their arrival, and how long after the second train was sent each arrived."""
    with two_hosts() as hosts, _box(name, hosts, 0, framing="ip", delay_ns=before_ns) as box:
        for netns, address in ((hosts.left, LEFT), (hosts.right, RIGHT)):
            ip("-n", netns, "addr", "add", f"{address}/24", "dev", "wan")
        introduce(hosts)
        with closing(Trains(hosts.left, hosts.right, RIGHT, DATAGRAM)) as udp:
            udp.send(1)
            time.sleep(apart_s)
            box.set(ab={"delay_ns": after_ns})
            sent_ns = time.time_ns()
            udp.send(1)
            numbers, times_ns = udp.receive(quiet_s=1, expected=2 * TRAIN)
    return {"numbers": numbers, "after_ns": [at - sent_ns for at in times_ns]}


def own_netem(loss: str, trains: int) -> list[list[int]]:
    """The datagrams of each super-packet that are lost in a netem on the sender's interface."""
    with two_hosts() as hosts:
        ip("-n", hosts.left, "link", "add", "wan", "type", "veth", "peer", "name", "wan", "netns", hosts.right)
        for netns, address in ((hosts.left, LEFT), (hosts.right, RIGHT)):
            ip("-n", netns, "addr", "add", f"{address}/24", "dev", "wan")
            ip("-n", netns, "link", "set", "wan", "up")
        introduce(hosts)
        in_netns(hosts.left, "tc", "qdisc", "add", "dev", "wan", "root", "netem", "loss", loss)
        with closing(Trains(hosts.left, hosts.right, RIGHT)) as udp:
            arrived = udp.arrived(trains * TRAIN, quiet_s=0.1)
    return [[number for number in range(TRAIN) if not arrived[train * TRAIN + number]] for train in range(trains)]
