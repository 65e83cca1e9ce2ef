"""Connections that carry the same bytes through a pair of gateways: which belongs to which."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

Summary = dict[str, Any]


def pair_flows(client: Summary, server: Summary) -> dict[int, int]:
    """Number of a flow on the client's side → number on the server's, from the summary.json of both sides' analyses.

    Gateways that keep addresses give the same end points on both sides. Of the others, connections to the same port
    belong together in the order in which they began (a relay opens its own as it takes the client's); those that no
    port tells apart, in the order in which they began alone.
    """
    pairs: dict[int, int] = {}
    left, right = list(client.get("flows") or ()), list(server.get("flows") or ())
    for key in (_ends, _port, lambda flow: ()):
        waiting = defaultdict(list)
        for flow in sorted(right, key=_began):
            waiting[key(flow)].append(flow)
        for flow in sorted(left, key=_began):
            if waiting[key(flow)]:
                pairs[_number(flow)] = _number(waiting[key(flow)].pop(0))
        left = [flow for flow in left if _number(flow) not in pairs]
        right = [flow for flow in right if _number(flow) not in pairs.values()]
    return pairs


def _number(flow: Summary) -> int:
    return int(flow["flow"])


def _began(flow: Summary) -> int:
    return int(flow.get("t0_ns") or 0)


def _ends(flow: Summary) -> Any:
    return tuple((end["address"], end["port"]) for end in (flow["sender"], flow["receiver"]))


def _port(flow: Summary) -> Any:
    return flow["receiver"]["port"]
