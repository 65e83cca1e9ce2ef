"""Which flows a path's impairments affect: whether a text of `[path] only` (comet_delay/only.py) selects packets of one
flow.

A flow is its full packets of data and its acknowledgements, at the addresses and ports that its sender reports. An
unknown property counts as one that the text selects. Unknown are a tunnel's packets between gateways, and iperf3's
ports. Rejected: the box's record, which few trials have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from comet_delay import only
from comet_delay.only import Ends, Packet
from scenarios.trial import captured

_ETHERNET, _ACK_BYTES = 14, {"ipv4": 52, "ipv6": 72}  # header sizes; an acknowledgement has the option of time stamps
Json = Mapping[str, Any]
Concerned = Callable[[str, str], bool]  # prefix of a direction ("" or "ba_"), text of `only`


def by(params: Json, end: Json) -> Concerned:
    """A function that says whether a text of `only` selects packets of this flow in a direction. ``end``: the sender's
    last object."""
    behind = params.get("gateway") not in (None, "none")

    def concerned(prefix: str, text: str) -> bool:
        packets = _packets(params, end, bool(prefix))
        return behind or text == only.ALL or any(only.chosen(text, packet) for packet in packets)

    return concerned


def _packets(params: Json, end: Json, back: bool) -> Iterator[Packet]:
    """The packets of a flow in a direction: data packets if the end where the direction begins sends data,
    acknowledgements if the other end sends data."""
    forth = [(_ends(one.get("local")), _ends(one.get("remote"))) for one in _streams(end.get("sender") or {})]
    returned = captured.sent_back(end)
    other = [(_ends(one.get("local")), _ends(one.get("remote"))) for one in _streams(returned or {})]
    data, acked = (other, forth) if back else (forth, other)
    family = str(params.get("family") or "ipv4")
    for src, dst in data if returned is not None or not back else ():
        yield Packet(True, int(params.get("mtu") or 1500) + _ETHERNET, src, dst)
    for dst, src in acked if returned is not None or back else ():
        yield Packet(False, _ACK_BYTES[family] + _ETHERNET, src, dst)


def _streams(side: Json) -> list[Json]:
    return side.get("streams") or [side]


def _ends(text: Any) -> Ends | None:
    address, _, port = str(text or "").rpartition(":")
    return (address.strip("[]"), int(port)) if address and port.isdigit() else None
