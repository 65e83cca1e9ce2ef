"""The text of the option ``only`` (comet-delay(1)): which packets the models of harm concern.

The daemon itself matches packets in src/model/filter.c. This module does the same without a daemon, for the packets of
a trial's tables, which do not have every field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

ALL = "all"
Ends = tuple[str, int]  # address and port


@dataclass(frozen=True)
class Packet:
    """A TCP packet, either with payload (``data``) or with ACK alone. ``size``: octets from the link header on.
    ``src``, ``dst``: None when not known."""

    data: bool
    size: int
    src: Ends | None
    dst: Ends | None


def chosen(text: str, packet: Packet) -> bool:
    """Whether a filter in the daemon's form matches the packet. A term about a value that is not known counts as
    matched."""
    return text == ALL or all(_met(term.strip(), packet) for term in text.split(","))


def _met(term: str, packet: Packet) -> bool:
    name, equals, value = term.lstrip("!").strip().partition("=")
    found = TERMS[name + equals](packet, value)
    return found is None or found != term.startswith("!")


def _in_network(ends: Ends | None, value: str) -> bool | None:
    return None if ends is None else ip_address(ends[0]) in ip_network(value, strict=False)


def _at_port(ends: Ends | None, value: str) -> bool | None:
    return None if ends is None else ends[1] == int(value)


# Every term of the daemon (filter.c, `filter_rows`), and whether it matches a packet; None: not known.
TERMS: Mapping[str, Callable[[Packet, str], bool | None]] = {
    "tcp": lambda packet, value: True,
    "udp": lambda packet, value: False,
    "syn": lambda packet, value: False,
    "fin": lambda packet, value: False,
    "rst": lambda packet, value: False,
    "data": lambda packet, value: packet.data,
    "ack-only": lambda packet, value: not packet.data,
    "sport=": lambda packet, value: _at_port(packet.src, value),
    "dport=": lambda packet, value: _at_port(packet.dst, value),
    "src=": lambda packet, value: _in_network(packet.src, value),
    "dst=": lambda packet, value: _in_network(packet.dst, value),
    "min-size=": lambda packet, value: packet.size >= int(value),
    "max-size=": lambda packet, value: packet.size <= int(value),
}
