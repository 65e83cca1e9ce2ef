"""Which flows a path's impairments affect: whether a text of `[path] only` (comet-delay(1)) selects packets of one
flow.

A flow is its full packets of data and its acknowledgements, at the addresses and ports that its sender reports. A
packet counts as selected as far as its properties are unknown: a tunnel's packets between gateways, iperf3's ports.
Rejected: the box's record, which few trials have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Any

from scenarios.trial import captured

ALL = "all"
_ETHERNET, _ACK_BYTES = 14, {"ipv4": 52, "ipv6": 72}  # an acknowledgement with the option of time stamps
Json = Mapping[str, Any]
Ends = tuple[str, int]  # address and port
Concerned = Callable[[str, str], bool]  # prefix of a direction ("" or "ba_"), text of `only`


@dataclass(frozen=True)
class _Packet:
    """A typical packet. ``src``, ``dst`` None: not known."""

    data: bool
    size: int
    src: Ends | None
    dst: Ends | None


def by(params: Json, end: Json) -> Concerned:
    """A function that says whether a text of `only` selects packets of this flow in a direction. ``end``: the sender's
    last object."""
    behind = params.get("gateway") not in (None, "none")

    def concerned(prefix: str, text: str) -> bool:
        return behind or text == ALL or any(_chosen(text, packet) for packet in _packets(params, end, bool(prefix)))

    return concerned


def _packets(params: Json, end: Json, back: bool) -> Iterator[_Packet]:
    """The packets that a flow sends in a direction: data packets if the end at its beginning sends data,
    acknowledgements if the other end does."""
    forth = [(_ends(one.get("local")), _ends(one.get("remote"))) for one in _streams(end.get("sender") or {})]
    returned = captured.sent_back(end)
    other = [(_ends(one.get("local")), _ends(one.get("remote"))) for one in _streams(returned or {})]
    data, acked = (other, forth) if back else (forth, other)
    family = str(params.get("family") or "ipv4")
    for src, dst in data if returned is not None or not back else ():
        yield _Packet(True, int(params.get("mtu") or 1500) + _ETHERNET, src, dst)
    for dst, src in acked if returned is not None or back else ():
        yield _Packet(False, _ACK_BYTES[family] + _ETHERNET, src, dst)


def _streams(side: Json) -> list[Json]:
    return side.get("streams") or [side]


def _ends(text: Any) -> Ends | None:
    address, _, port = str(text or "").rpartition(":")
    return (address.strip("[]"), int(port)) if address and port.isdigit() else None


def _chosen(text: str, packet: _Packet) -> bool:
    """All terms hold, as far as is known."""
    return all(_holds(term.strip(), packet) for term in text.split(","))


def _holds(term: str, packet: _Packet) -> bool:
    found = _plain(term.lstrip("!").strip(), packet)
    return found is None or found != term.startswith("!")


def _plain(term: str, packet: _Packet) -> bool | None:
    """Whether a term without negation holds; None: unknown."""
    name, _, value = term.partition("=")
    side = packet.src if name in ("src", "sport") else packet.dst
    if name in ("src", "dst"):
        return None if side is None else ip_address(side[0]) in ip_network(value, strict=False)
    if name in ("sport", "dport"):
        return None if side is None else side[1] == int(value)
    if name in ("min-size", "max-size"):
        return packet.size >= int(value) if name == "min-size" else packet.size <= int(value)
    known = {"tcp": True, "udp": False, "syn": False, "fin": False, "rst": False}
    return (known | {"data": packet.data, "ack-only": not packet.data}).get(term)
