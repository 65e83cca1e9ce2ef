"""Addresses and routes of a chain of nodes, computed without touching the system.

Link k of the chain joins node k and node k+1. Its networks are 10.77.k.0/24 and fd77:0:0:k::/64; its left end is host
1, and its right end is host 2. A node reaches all networks on its left over its left neighbour, and all others over its
right one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Family = Literal["ipv4", "ipv6"]
PREFIX_LENGTH = {"ipv4": 24, "ipv6": 64}


def network(family: Family, link: int) -> str:
    """The network of a link, with its prefix length."""
    return f"10.77.{link}.0/24" if family == "ipv4" else f"fd77:0:0:{link:x}::/64"


def address(family: Family, link: int, side: Literal[1, 2]) -> str:
    """The address of the left (1) or right (2) end of a link."""
    return f"10.77.{link}.{side}" if family == "ipv4" else f"fd77:0:0:{link:x}::{side}"


@dataclass(frozen=True)
class Route:
    """A route to ``destination`` over the neighbour ``gateway``."""

    family: Family
    destination: str
    gateway: str


def routes(family: Family, node: int, nodes: int) -> list[Route]:
    """The routes of node ``node`` in a chain of ``nodes`` nodes: one for each link that the node is not on."""
    found = []
    for link in range(nodes - 1):
        if link < node - 1:
            found.append(Route(family, network(family, link), address(family, node - 1, 1)))
        elif link > node:
            found.append(Route(family, network(family, link), address(family, node, 2)))
    return found


def receiver_address(family: Family, nodes: int) -> str:
    """The address of the chain's last node."""
    return address(family, nodes - 2, 2)
