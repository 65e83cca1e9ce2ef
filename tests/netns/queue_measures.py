"""How much a queue takes: super-packets sent at once to either back end of the delay box. Called in virtual time."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from comet_box import LEFT, RIGHT, introduce, ip, two_hosts
from udp_trains import TRAIN, Trains

from comet_delay import Port
from comet_delay.backend import Box
from comet_delay.netem import NetemBox
from comet_delay.userspace import UserspaceBox

DATAGRAM = 1472  # with its headers as long as the MTU


def first_drops(cases: list[dict[str, Any]]) -> list[dict[str, int]]:
    """For each case, by back end, the number of the first datagram that was dropped, which is how many the queue took
    before. A case has the box's parameters of the direction, ``trains`` and ``granularity_ns``."""
    return [{name: _first_drop(name, **case) for name in ("netem", "comet")} for case in cases]


def _first_drop(name: str, trains: int, granularity_ns: int, **ab: int | str) -> int:
    with two_hosts() as hosts:
        ports, back = (Port("wan", hosts.left), Port("wan", hosts.right)), {"framing": ab["framing"]}
        box: Box
        if name == "netem":
            box = NetemBox(*ports, ab=ab, ba=back, granularity_ns=granularity_ns)
        else:
            own = {"spin_ns": 0, "poll_ns": 0, "granularity_ns": granularity_ns, "memory_bytes": 64 << 20}
            box = UserspaceBox(*ports, ab=ab, ba=back, box=own)
        with box:
            for netns, address in ((hosts.left, LEFT), (hosts.right, RIGHT)):
                ip("-n", netns, "addr", "add", f"{address}/24", "dev", "wan")
            introduce(hosts)
            with closing(Trains(hosts.left, hosts.right, RIGHT, DATAGRAM)) as udp:
                udp.send(trains)
                arrived = set(udp.receive(quiet_s=1)[0])
    return next(number for number in range(trains * TRAIN + 1) if number not in arrived)
