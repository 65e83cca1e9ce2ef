"""The network of a run: nodes, each in a namespace of its own, joined as `graph` says.

With one pair of hosts it is a chain: snd – r1 – [delay box] – r2 … rN – rcv. Gateways are nodes next to the hosts.

Links, addresses, routes and neighbours are set through pyroute2. The WAN interfaces belong to the delay boxes, which
create them for every trial (``attach_wan``). Nodes are unnamed namespaces that live as long as the processes that hold
them, and veth pairs are created inside them. So two runs never collide, and nothing of a run outlives it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from comet_delay import Port
from netcommon import netns
from netcommon.errors import LfpError
from netcommon.ledger import Ledger
from scenarios.network import links, sysctls
from scenarios.network.addresses import Family
from scenarios.network.graph import Graph, Side, host_names
from scenarios.network.place import Place
from scenarios.plan.model import Scenario
from scenarios.plan.profiles import Profile

if TYPE_CHECKING:
    from scenarios.network.prompt import Prompt

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
_ROUTER = {"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"}


class Node(Protocol):
    """What holds the namespaces of a node."""

    pid: int

    def end(self) -> None: ...


class Topology:
    """The network, as a context manager. ``sender`` and ``receiver`` are the ids of the processes that hold the
    namespaces of pair 1's hosts."""

    def __init__(
        self,
        graph: Graph,
        mtu: int,
        family: Family = "ipv4",
        ledger: Ledger | None = None,
        *,
        nic: tuple[int, int] = (0, 0),
        prompt: bool = False,
    ) -> None:
        self.graph, self.mtu, self.family = graph, mtu, family
        self.names = list(graph.nodes)
        self._ledger = ledger
        self._nic = nic  # rate of the senders' interfaces (0: none), and packets of their transmit queues
        self._with_prompt = prompt
        self._prompt: Prompt | None = None
        self._nodes: dict[str, Node] = {}
        self._routed: dict[str, tuple[int | None]] = {}  # the options of a node's routes
        self._first: dict[int, dict[str, str]] = {}  # sysctls of the hosts' namespaces before any profile

    @classmethod
    def of(cls, setting: Scenario, ledger: Ledger | None = None, *, prompt: bool = False) -> Topology:
        """The network that a trial needs. ``prompt``: whether it can open Mininet's prompt."""
        path = setting.path
        return cls(
            Graph.of(setting),
            path.mtu,
            setting.transfer.family,
            ledger,
            nic=(path.nic_rate, path.nic_queue),
            prompt=prompt,
        )

    def __enter__(self) -> Topology:
        try:
            self._build()
        except BaseException as error:
            self.__exit__()
            if isinstance(error, LfpError) or not isinstance(error, Exception):
                raise
            raise LfpError(f"cannot build the network: {error}; 'lfp doctor' tells what is missing") from error
        return self

    def __exit__(self, *_: object) -> None:
        for node in self._nodes.values():
            pid = node.pid
            links.close_session(pid)
            node.end()
            if self._ledger:
                self._ledger.drop_process(pid)
        self._nodes = {}

    @property
    def sender(self) -> int:
        """Process id of the sending host's namespace."""
        return self.pid("snd")

    @property
    def receiver(self) -> int:
        """Process id of the receiving host's namespace."""
        return self.pid("rcv")

    @property
    def hops(self) -> list[int]:
        """The numbers of the network's delay boxes."""
        return sorted(self.graph.hops)

    def pair_of(self, hop: int) -> int:
        """The pair whose own path a delay box is; 0: it is one of [path]'s."""
        return self.graph.pair_of(hop)

    def host_pids(self) -> list[int]:
        """Process ids of the hosts' namespaces."""
        return [self.pid(host) for host in self.hosts()]

    def place(self, host: str) -> Place:
        """Where a host's tools run."""
        return Place(self.pid(host))

    def pid(self, node: str) -> int:
        """Process id of a node's namespace."""
        return self._nodes[node].pid

    def pids(self) -> dict[str, int]:
        """Process id of every node's namespace by node name."""
        return {name: self.pid(name) for name in self._nodes}

    def hosts(self) -> list[str]:
        """The names of all hosts: each pair's sender, then its receiver."""
        return [name for pair in range(1, self.graph.pairs + 1) for name in host_names(pair)]

    def host_interface(self, host: str) -> str:
        """Name of the only network interface of a host."""
        (link,) = self.graph.at(host)
        return self.graph.interface(link, host)

    def interface(self, node: str, side: Side) -> str:
        """Name of a node's first interface towards the senders (left) or the receivers (right)."""
        return self.interfaces(node, side)[0]

    def interfaces(self, node: str, side: Side) -> list[str]:
        """Names of all of a node's interfaces towards the senders or the receivers."""
        return [self.graph.interface(link, node) for link in self.graph.at(node, side)]

    def address_of(self, node: str, side: Side) -> str:
        """A node's address towards the senders (left) or the receivers (right), on its first link there."""
        return self.graph.address(self.family, self.graph.at(node, side)[0], node)

    def receiver_address(self, pair: int = 1) -> str:
        """The address that a pair's sender sends to."""
        return self.address_of(host_names(pair)[1], "left")

    def wan_ports(self, hop: int = 1) -> tuple[Port, Port]:
        """Ports a (on the senders' side) and b of a delay box."""
        number = self.graph.hops[hop]
        link = self.graph.links[number]
        a, b = (Port(self.graph.interface(number, node), self.pid(node)) for node in (link.left, link.right))
        return a, b

    def set_line_mtu(self, octets: int) -> None:
        """Sets the MTU of the line between the routers, which tell senders of larger packets (ICMP), until the boxes
        are made again. Packets that are on the line arrive. Rejected: the interfaces' MTU, by which some of these would
        be dropped on arrival."""
        for number in (self.graph.hops[hop] for hop in self.hops if not self.pair_of(hop)):
            for node in (self.graph.links[number].left, self.graph.links[number].right):
                over = self.graph.address(self.family, number, self.graph.links[number].other(node))
                routes = [route for route in self.graph.routes(self.family, node) if route.gateway == over]
                links.set_routes(self.pid(node), routes, mtu=octets)

    def attach_wan(self, profile: Profile) -> None:
        """Sets addresses, neighbours and routes once the boxes have created their ports. Routes carry the profile's
        options. The routes of nodes that are not next to the path remain from the previous trial, if it had the same
        options."""
        options, at_path = (profile.rto_min_ms,), set()
        for number in self.graph.hops.values():
            self._join(number)
            at_path |= {self.graph.links[number].left, self.graph.links[number].right}
        for name in self._nodes:
            if name in at_path or self._routed.get(name) != options:
                links.set_routes(self.pid(name), self.graph.routes(self.family, name), profile.rto_min_ms)
                self._routed[name] = options

    def forget_routes(self) -> None:
        """Says that a program may have changed routes, so that the next trial sets all of them again."""
        self._routed.clear()

    def apply(self, profile: Profile, window_bytes: int | None = None) -> dict[str, str]:
        """Writes the TCP profile into all hosts, and the buffers that a window of this size needs. Returns the
        profile's sysctls as the first sender reads them back."""
        pids = self.host_pids()
        back = [sysctls.apply(profile, pid, self._first.setdefault(pid, {})) for pid in pids]
        if profile.keeps_metrics:
            for pid in pids:
                netns.forget_destinations(pid)
        buffers = sysctls.first_buffers(window_bytes) if window_bytes else {}
        for pid in pids if buffers else ():
            netns.call_in(pid, sysctls.write_sysctls, buffers)
        return back[0]

    def counters(self) -> dict[str, links.Counters]:
        """The drop counters of every interface, by ``node:interface``."""
        return {
            f"{node}:{name}": counted
            for node, pid in self.pids().items()
            for name, counted in links.counters(pid).items()
        }

    def offloads(self) -> dict[str, dict[str, bool]]:
        """The offloads of the hosts' interfaces, by ``node:interface``."""
        names = [(host, self.host_interface(host)) for host in self.hosts()]
        return {f"{host}:{nic}": links.offloads(self.pid(host), nic) for host, nic in names}

    def prompt(self) -> None:
        """Opens Mininet's prompt, until the user leaves it."""
        assert self._prompt
        self._prompt.open()

    def _build(self) -> None:
        if self._with_prompt:
            from scenarios.network.prompt import Prompt  # loads Mininet

            self._prompt = Prompt()
        for name in self.names:
            node = self._prompt.node(name) if self._prompt else netns.Holder()
            self._nodes[name] = node
            links.open_session(node.pid)
            if self._ledger:
                self._ledger.add_process(node.pid, f"node:{name}")
            router = {} if self.graph.is_host(name) else _ROUTER
            netns.call_in(node.pid, sysctls.write_sysctls, _OF_FAMILY[self.family] | router)
            links.bring_up(node.pid, "lo")
        for number, link in enumerate(self.graph.links):
            if not link.hop:
                self._connect(
                    link.left,
                    self.graph.interface(number, link.left),
                    link.right,
                    self.graph.interface(number, link.right),
                )
                self._join(number)
        if self._nic[0]:
            for pair in range(1, self.graph.pairs + 1):
                sender, _ = host_names(pair)
                links.transmit_queue(self.pid(sender), self.host_interface(sender), *self._nic)

    def _connect(self, left: str, left_nic: str, right: str, right_nic: str) -> None:
        """A veth pair between two nodes."""
        links.add_veth(self.pid(left), left_nic, self.pid(right), right_nic)
        if self._prompt:
            self._prompt.connect(left, left_nic, right, right_nic)

    def _join(self, number: int) -> None:
        """Gives both ends of a link their addresses, brings them up and enters each as the other's neighbour."""
        ends = self.graph.links[number].left, self.graph.links[number].right
        nics = [(self.pid(node), self.graph.interface(number, node)) for node in ends]
        own = [(self.family, self.graph.address(self.family, number, node)) for node in ends]
        macs = [links.bring_up(*nic, self.mtu, [address]) for nic, address in zip(nics, own, strict=True)]
        for nic, address, mac in zip(nics, reversed(own), reversed(macs), strict=True):
            links.add_neighbours(*nic, [address], mac)
