"""Pairs the connections that carry the same bytes on both sides of a pair of gateways. Finds connections by their
ends."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

Summary = dict[str, Any]
_SIDES = ("sender", "receiver")


def pair_flows(client: Summary, server: Summary) -> dict[int, int]:
    """Maps the number of a flow on the client's side to its number on the server's side, from both summary.json.

    If gateways keep addresses, a flow has the same end points on both sides; such flows are paired by them. Remaining
    connections of the same port are paired in the order in which they began, because a relay opens its own connection
    as it accepts the client's. The port is that of the listener: the receivers' port or, if data flow to the clients,
    the senders' port; the one that more flows share is taken. All flows that are left are paired in the order in which
    they began.
    """
    pairs: dict[int, int] = {}
    left, right = list(client.get("flows") or ()), list(server.get("flows") or ())
    ports = sorted((_port_of("receiver"), _port_of("sender")), key=lambda port: -_common(port, left, right))
    for key in (_ends, ports[0], lambda flow: ()):
        waiting = defaultdict(list)
        for flow in sorted(right, key=_began):
            waiting[key(flow)].append(flow)
        for flow in sorted(left, key=_began):
            if waiting[key(flow)]:
                pairs[_number(flow)] = _number(waiting[key(flow)].pop(0))
        left = [flow for flow in left if _number(flow) not in pairs]
        right = [flow for flow in right if _number(flow) not in pairs.values()]
    return pairs


def between(summary: Summary, ends: Iterable[tuple[str, str]]) -> list[int]:
    """The numbers of the flows between these ends, the one with the most data first. Each pair of ends names the side
    that connected and the other side, as ``ADDRESS:PORT`` or ``[ADDRESS]:PORT``.
    """
    wanted = set(ends)
    found = [flow for flow in summary.get("flows") or () if tuple(_end(flow[side]) for side in _SIDES) in wanted]
    return [_number(flow) for flow in sorted(found, key=lambda flow: -int(flow.get("bytes") or 0))]


def _end(end: Summary) -> str:
    address = str(end["address"])
    return f"[{address}]:{end['port']}" if ":" in address else f"{address}:{end['port']}"


def _number(flow: Summary) -> int:
    return int(flow["flow"])


def _began(flow: Summary) -> int:
    return int(flow.get("t0_ns") or 0)


def _ends(flow: Summary) -> Any:
    return tuple((end["address"], end["port"]) for end in (flow["sender"], flow["receiver"]))


def _port_of(side: str) -> Callable[[Summary], Any]:
    return lambda flow: flow[side]["port"]


def _common(key: Callable[[Summary], Any], left: list[Summary], right: list[Summary]) -> int:
    """The number of flows that have the same key on both sides."""
    return (Counter(map(key, left)) & Counter(map(key, right))).total()
