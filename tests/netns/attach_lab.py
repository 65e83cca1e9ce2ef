"""Two hosts and a box namespace between them, joined by veth pairs, and a comet-delay attached to the inner ends:
``with attach_lab() as lab, AttachedBox(lab, delay="1ms") as box: …``."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from comet_box import LEFT, LEFT6, RIGHT, RIGHT6, Box, Hosts, in_netns, ip

from comet_delay import Port


@dataclass(frozen=True)
class Lab(Hosts):
    """Names of namespaces. Hosts have ``wan``; ``middle`` has their peers ``left`` and ``right``, without addresses."""

    middle: str


@contextmanager
def attach_lab(mtu: int = 1500) -> Iterator[Lab]:
    """Three namespaces with connected and configured interfaces; removed afterwards."""
    mark = uuid.uuid4().hex[:8]
    lab = Lab(f"attach-l-{mark}", f"attach-r-{mark}", f"attach-m-{mark}")
    try:
        for name in (lab.middle, lab.left, lab.right):
            ip("netns", "add", name)
        for kind in ("all", "default"):
            in_netns(lab.middle, "sysctl", "-qw", f"net.ipv6.conf.{kind}.disable_ipv6=1")
        for host, inner, v4, v6 in ((lab.left, "left", LEFT, LEFT6), (lab.right, "right", RIGHT, RIGHT6)):
            ip("-n", host, "link", "set", "lo", "up")
            ip("-n", lab.middle, "link", "add", inner, "mtu", str(mtu), "type", "veth",
               "peer", "name", "wan", "mtu", str(mtu), "netns", host)  # fmt: skip
            ip("-n", lab.middle, "link", "set", inner, "up")
            ip("-n", host, "link", "set", "wan", "up")
            address(host, v4, v6)
        yield lab
    finally:
        for name in (lab.left, lab.right, lab.middle):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=10)


def address(netns: str, v4: str, v6: str, interface: str = "wan") -> None:
    """Gives the interface its addresses."""
    ip("-n", netns, "addr", "add", f"{v4}/24", "dev", interface)
    ip("-n", netns, "addr", "add", f"{v6}/64", "dev", interface, "nodad")


def offloads(netns: str, interface: str, *settings: str) -> None:
    """`ethtool -K`, for example ``tso``, ``off``."""
    in_netns(netns, "ethtool", "-K", interface, *settings)


def no_offloads(netns: str, interface: str) -> None:
    """Switches offloads off: packets leave one by one and with their checksums, as on a wire."""
    offloads(netns, interface, "tx", "off", "tso", "off", "gso", "off", "tx-udp-segmentation", "off")


class AttachedBox(Box):
    """A comet-delay between the lab's hosts; ports ``a`` and ``b`` as given, or the inner ends of the veth pairs."""

    def __init__(self, lab: Lab, a: Port | None = None, b: Port | None = None, /, **options: str) -> None:
        inner = Port("left", lab.middle, "if"), Port("right", lab.middle, "if")
        super().__init__(lab, a or inner[0], b or inner[1], **options)

    def __enter__(self) -> AttachedBox:
        self.box.start()
        return self
