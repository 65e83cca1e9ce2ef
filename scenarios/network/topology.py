"""The network of a run: a chain of Mininet nodes, each in a namespace of its own.

Without gateways the chain is snd – r1 – [delay box] – r2 … rN – rcv. Gateways are nodes next to the hosts: snd – gw1 –
r1 – [delay box] – r2 … rN – gw2 – rcv.

Mininet creates nodes and veth links and offers its prompt; addresses, routes and neighbours are set through pyroute2.
The two WAN interfaces belong to the delay box, which creates them anew for every trial (``attach_wan``). Nodes are
unnamed namespaces that live as long as their shells, and veth pairs are created inside them. So two runs never collide,
and nothing of a run outlives it.

Mininet is loaded when a network is entered: that takes 0.2 s, and the host of a virtual trial needs names alone.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from comet_delay import Port
from netcommon import netns
from netcommon.errors import LfpError
from netcommon.ledger import Ledger
from scenarios.network import links, sysctls
from scenarios.network.addresses import Family, address, receiver_address, routes
from scenarios.plan.model import Scenario
from scenarios.plan.profiles import Profile

# Only the transfer may use the path: a stray multicast report would count as a packet of the model.
_OF_FAMILY = {
    "ipv4": {f"net.ipv6.conf.{scope}.disable_ipv6": "1" for scope in ("all", "default")},
    "ipv6": {
        f"net.ipv6.conf.{scope}.{key}": value
        for scope in ("all", "default")
        for key, value in (
            ("accept_dad", "0"),
            ("accept_ra", "0"),
            ("router_solicitations", "0"),
            ("addr_gen_mode", "1"),
        )
    },
}
_DESCRIPTORS = 256  # that a node's shell may have open
_ROUTER = {"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"}


class Topology:
    """The chain, as a context manager. ``sender`` and ``receiver`` are the ids of the processes that hold the hosts'
    namespaces."""

    def __init__(
        self, routers: int, mtu: int, family: Family = "ipv4", ledger: Ledger | None = None, *, gateways: bool = False
    ) -> None:
        self.mtu = mtu
        self.family = family
        chain = [f"r{i}" for i in range(1, routers + 1)]
        self.names = ["snd", *(["gw1", *chain, "gw2"] if gateways else chain), "rcv"]
        self._wan_link = self.names.index("r1")  # the link of the chain where the delay box is
        self._ledger = ledger
        self._net: Any = None
        self._nodes: list[Any] = []
        self._routed: dict[int, tuple[int | None]] = {}  # the options of a node's routes, by its process

    @classmethod
    def of(cls, setting: Scenario, ledger: Ledger | None = None) -> Topology:
        """The network that a trial needs."""
        path, gateways = setting.path, setting.gateway.has_nodes
        return cls(path.routers, path.mtu, setting.transfer.family, ledger, gateways=gateways)

    def __enter__(self) -> Topology:
        from mininet.link import Link
        from mininet.log import setLogLevel
        from mininet.net import Mininet

        setLogLevel("error")
        Mininet.inited = True  # init() would raise limits of the whole machine (fixLimits); ours are per namespace
        self._net = Mininet(topo=None, build=False, controller=None, link=Link)
        try:
            self._build()
        except BaseException as error:
            self.__exit__()
            if isinstance(error, LfpError) or not isinstance(error, Exception):
                raise
            raise LfpError(f"cannot build the network: {error}; 'lfp doctor' tells what is missing") from error
        return self

    def __exit__(self, *_: object) -> None:
        for node in self._nodes:
            pid = node.pid
            links.close_session(pid)
            node.terminate()
            if self._ledger:
                self._ledger.drop_process(pid)
        self._nodes = []

    @property
    def sender(self) -> int:
        """Process id of the sending host's namespace."""
        return int(self._nodes[0].pid)

    @property
    def receiver(self) -> int:
        """Process id of the receiving host's namespace."""
        return int(self._nodes[-1].pid)

    def pids(self) -> dict[str, int]:
        """Process id of every node's namespace by node name."""
        return {node.name: int(node.pid) for node in self._nodes}

    def host_interface(self, host: str) -> str:
        """Name of the only network interface of ``snd`` or ``rcv``."""
        return self._interface(0, 1) if host == "snd" else self._interface(len(self.names) - 2, 2)

    def interface(self, node: str, side: Literal["left", "right"]) -> str:
        """Name of a node's interface towards the sender (left) or the receiver (right)."""
        index = self.names.index(node)
        return self._interface(index - 1, 2) if side == "left" else self._interface(index, 1)

    def address_of(self, node: str, side: Literal["left", "right"]) -> str:
        """A node's address towards the sender (left) or the receiver (right)."""
        index = self.names.index(node)
        return self._address(index - 1, 2)[1] if side == "left" else self._address(index, 1)[1]

    def receiver_address(self) -> str:
        """The address that the sender sends to."""
        return receiver_address(self.family, len(self.names))

    def wan_ports(self) -> tuple[Port, Port]:
        """Ports a (on the sender's side) and b of the delay box."""
        return self._wan_port(1), self._wan_port(2)

    def attach_wan(self, profile: Profile) -> None:
        """Sets addresses, neighbours and routes once the box has created its ports. Routes carry the profile's options.
        Those of nodes away from the path are still there from the trial before, if it had the same options."""
        self._join(self._wan_link)
        for index, node in enumerate(self._nodes):
            options = (profile.rto_min_ms,)
            if index in (self._wan_link, self._wan_link + 1) or self._routed.get(node.pid) != options:
                links.set_routes(node.pid, routes(self.family, index, len(self._nodes)), profile.rto_min_ms)
                self._routed[node.pid] = options

    def forget_routes(self) -> None:
        """Says that a program may have changed routes, so that the next trial sets all of them again."""
        self._routed.clear()

    def apply(self, profile: Profile, window_bytes: int | None = None) -> dict[str, str]:
        """Writes the TCP profile into both hosts, and the buffers that a window of this size needs. Returns the
        profile's sysctls as the sender reads them back."""
        back = [sysctls.apply(profile, host) for host in (self.receiver, self.sender)]
        buffers = sysctls.first_buffers(window_bytes) if window_bytes else {}
        for host in (self.receiver, self.sender):
            netns.call_in(host, sysctls.write_sysctls, buffers)
        return back[1]

    def counters(self) -> dict[str, links.Counters]:
        """The drop counters of every interface, by ``node:interface``."""
        return {
            f"{node.name}:{name}": counted for node in self._nodes for name, counted in links.counters(node.pid).items()
        }

    def offloads(self) -> dict[str, dict[str, bool]]:
        """The offloads of the hosts' interfaces, by ``node:interface``."""
        hosts = (("snd", self.sender), ("rcv", self.receiver))
        return {
            f"{host}:{self.host_interface(host)}": links.offloads(pid, self.host_interface(host)) for host, pid in hosts
        }

    def prompt(self) -> None:
        """Opens Mininet's prompt, until the user leaves it."""
        from mininet.cli import CLI
        from mininet.log import setLogLevel

        setLogLevel("output")  # shows what the nodes' commands print
        CLI(self._net)

    def _build(self) -> None:
        from mininet.link import Link
        from mininet.node import Node

        for index, name in enumerate(self.names):
            with _few_descriptors():
                node = self._net.addHost(name, cls=Node, ip=None)
            self._nodes.append(node)
            links.open_session(node.pid)
            if self._ledger:
                self._ledger.add_process(node.pid, f"mininet:{name}")
            router = 0 < index < len(self.names) - 1
            netns.call_in(node.pid, sysctls.write_sysctls, _OF_FAMILY[self.family] | (_ROUTER if router else {}))
            links.bring_up(node.pid, "lo")
        for link in range(len(self.names) - 1):
            if link != self._wan_link:
                left, right = self._nodes[link], self._nodes[link + 1]
                names = {"intfName1": self._interface(link, 1), "intfName2": self._interface(link, 2)}
                self._net.addLink(left, right, cls=Link, **names)
                self._join(link)

    def _join(self, link: int) -> None:
        """Gives both ends of a link their addresses, brings them up and enters each as the other's neighbour."""
        ends = ((self._nodes[link], 1), (self._nodes[link + 1], 2))
        macs = [
            links.bring_up(node.pid, self._interface(link, side), self.mtu, [self._address(link, side)])
            for node, side in ends
        ]
        for (node, side), other_mac in zip(ends, reversed(macs), strict=True):
            links.add_neighbours(node.pid, self._interface(link, side), [self._address(link, 3 - side)], other_mac)

    def _interface(self, link: int, side: int) -> str:
        left, right = self.names[link], self.names[link + 1]
        own, other = (left, right) if side == 1 else (right, left)
        return f"{own}-wan" if link == self._wan_link else f"{own}-{other}"

    def _wan_port(self, side: int) -> Port:
        return Port(self._interface(self._wan_link, side), int(self._nodes[self._wan_link + side - 1].pid))

    def _address(self, link: int, side: int) -> tuple[Family, str]:
        return self.family, address(self.family, link, 1 if side == 1 else 2)


@contextmanager
def _few_descriptors() -> Iterator[None]:
    """Mininet's mnexec closes as many descriptors as the limit allows, each by a system call. A call takes 12 µs in a
    guest, and some machines allow a million descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(_DESCRIPTORS, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
