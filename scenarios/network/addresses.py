"""Addresses of links, computed without touching the system: link k has the networks 10.77.k.0/24 and fd77:0:0:k::/64;
its left end is host 1, and its right end is host 2."""

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
