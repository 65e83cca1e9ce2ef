"""The nodes and links of a setting's network, computed without touching the system.

Pair 1 is a chain: snd – r1 ═ r2 … rN – rcv, with its gateways gw1 and gw2 next to the hosts. In a dumbbell the other
pairs hang at the same ends: at the routers, at the gateways that they share, or at routers by way of gateways of their
own (gw3 and gw4 are pair 2's). In a parking lot every link between two routers is a bottleneck, and pair N + 1 hangs at
the ends of the Nth. ═ is a link on which a delay box is made for each trial. A pair with a path of its own has a router
more: snd2 – ar2 ═ r1.

Every network is a tree, so there is one way from a node to another. Link k has network k (`addresses`). The links of
pair 1 come first, from the sender to the receiver, so their addresses do not depend on other pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

from scenarios.network.addresses import Family, Route, address, network
from scenarios.plan import flows
from scenarios.plan.model import Scenario

Side = Literal["left", "right"]


@dataclass(frozen=True)
class Link:
    """Two nodes; ``left`` is nearer to the senders. ``hop``: the number of its delay box, from 1; 0: a plain link.
    ``pair``: the host pair whose own path the box is; 0: [path]."""

    left: str
    right: str
    hop: int = 0
    pair: int = 0

    def other(self, node: str) -> str:
        """The node at the other end."""
        return self.right if node == self.left else self.left

    def side(self, node: str) -> Literal[1, 2]:
        """Which end of the link a node is: 1 is the left one, 2 the right one (`addresses`)."""
        return 1 if node == self.left else 2


def host_names(pair: int) -> tuple[str, str]:
    """The sender's and the receiver's node of a pair: snd and rcv, snd2 and rcv2, …"""
    return ("snd", "rcv") if pair == 1 else (f"snd{pair}", f"rcv{pair}")


def gateway_names(pair: int) -> tuple[str, str]:
    """The nodes of a pair's own gateways, near and far: gw1 and gw2, gw3 and gw4, …"""
    return f"gw{2 * pair - 1}", f"gw{2 * pair}"


@dataclass(frozen=True)
class Graph:
    """``links`` by number; ``pairs``: how many host pairs there are."""

    links: tuple[Link, ...]
    pairs: int = 1

    @classmethod
    def of(cls, setting: Scenario) -> Graph:
        """The network that a setting needs."""
        numbers = flows.pairs(setting)
        if setting.topology.hops is not None:
            lot = _parking_lot(setting.topology.hops, len(numbers))
            return cls(_with_own_paths(lot, setting), len(numbers))
        chain = [f"r{number}" for number in range(1, setting.path.routers + 1)]
        links: list[Link] = []
        for pair in numbers:
            snd, rcv = host_names(pair)
            near, far = gateways_of(setting, pair)
            left, right = ([snd, near], [far, rcv]) if near else ([snd], [rcv])
            if pair == 1:
                links += _joined([*left, *chain, *right])
            elif near and leader(setting, pair) == pair:
                links += [*_joined([*left, chain[0]]), *_joined([chain[-1], *right])]
            else:
                links += [Link(snd, near or chain[0]), Link(far or chain[-1], rcv)]
        return cls(_with_own_paths(tuple(links), setting), len(numbers))

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """All nodes: those of pair 1 from the sender to the receiver, then the others'."""
        return tuple(dict.fromkeys(node for link in self.links for node in (link.left, link.right)))

    @cached_property
    def hops(self) -> dict[int, int]:
        """The number of the link of each delay box, by the number of the box."""
        return {link.hop: number for number, link in enumerate(self.links) if link.hop}

    def pair_of(self, hop: int) -> int:
        """The pair whose own path a delay box is; 0: it is one of [path]'s."""
        return self.links[self.hops[hop]].pair

    def at(self, node: str, side: Side | None = None) -> list[int]:
        """The links of a node: all, or those towards the senders (left) or the receivers (right)."""
        ends = {"left": (2,), "right": (1,), None: (1, 2)}[side]
        return [n for n, link in enumerate(self.links) if node in (link.left, link.right) and link.side(node) in ends]

    def interface(self, number: int, node: str) -> str:
        """The name of a node's interface on a link."""
        link = self.links[number]
        if not link.hop:
            return f"{node}-{link.other(node)}"
        return f"{node}-wan" if link.hop == 1 else f"{node}-wan{link.hop}"

    def address(self, family: Family, number: int, node: str) -> str:
        """A node's address on a link."""
        return address(family, number, self.links[number].side(node))

    def is_host(self, node: str) -> bool:
        """Whether a node is at an end: hosts have one link."""
        return len(self.at(node)) == 1

    def into_path(self) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
        """The nodes that send into the path from the left and from the right, each with its link to a router: gateways
        in nodes of their own, or hosts."""
        outside = [(n, link) for n, link in enumerate(self.links) if not link.hop]
        left = [(link.left, n) for n, link in outside if _routes(link.right) and not _routes(link.left)]
        right = [(link.right, n) for n, link in outside if _routes(link.left) and not _routes(link.right)]
        return left, right

    def routes(self, family: Family, node: str) -> list[Route]:
        """The routes of a node: one for each link that it is not on."""
        links, routes = set(self.at(node)), []
        for first in sorted(links):
            neighbour = self.links[first].other(node)
            gateway = self.address(family, first, neighbour)
            routes += [Route(family, network(family, n), gateway) for n in self._beyond(neighbour, links)]
        return sorted(routes, key=lambda route: route.destination)

    def _beyond(self, node: str, passed: set[int]) -> list[int]:
        """The links that can be reached from a node without crossing those in ``passed``."""
        own = [number for number in self.at(node) if number not in passed]
        return own + [n for number in own for n in self._beyond(self.links[number].other(node), passed | set(own))]


def leader(setting: Scenario, pair: int) -> int:
    """The first pair behind the same gateways: for a pair with gateways of its own, the pair itself."""
    if not flows.shares_gateway(setting, pair):
        return pair
    return next(one for one in flows.pairs(setting) if flows.shares_gateway(setting, one))


def gateways_of(setting: Scenario, pair: int) -> tuple[str, str] | tuple[None, None]:
    """The nodes of the gateways in front of a pair; None where the pair's gateways have no nodes of their own."""
    if not flows.gateway_of(setting, pair).has_nodes:
        return None, None
    return gateway_names(leader(setting, pair))


def _joined(nodes: list[str]) -> list[Link]:
    """A link between each node and the next. The delay box is behind the first router."""
    hop = {("r1", "r2"): 1}
    return [Link(left, right, hop.get((left, right), 0)) for left, right in pairwise(nodes)]


def _parking_lot(hops: int, pairs: int) -> tuple[Link, ...]:
    routers = [f"r{number}" for number in range(1, hops + 2)]
    between = [Link(left, right, hop) for hop, (left, right) in enumerate(pairwise(routers), 1)]
    links = [Link("snd", routers[0]), *between, Link(routers[-1], "rcv")]
    for pair in range(2, pairs + 1):
        snd, rcv = host_names(pair)
        links += [Link(snd, routers[pair - 2]), Link(routers[pair - 1], rcv)]
    return tuple(links)


def _with_own_paths(links: tuple[Link, ...], setting: Scenario) -> tuple[Link, ...]:
    """The links, with a router and a delay box behind the last node on the left that only this pair uses. Other links
    keep their numbers, and so their addresses."""
    found, last = list(links), max(link.hop for link in links)
    for hop, pair in enumerate(flows.own_paths(setting), last + 1):
        node = gateways_of(setting, pair)[0] or host_names(pair)[0]
        number = next(n for n, link in enumerate(found) if link.left == node and _routes(link.right))
        own = f"ar{pair}"
        found.append(Link(own, found[number].right, hop, pair))
        found[number] = Link(node, own)
    return tuple(found)


def _routes(node: str) -> bool:
    return node.removeprefix("a").removeprefix("r").isdigit()
