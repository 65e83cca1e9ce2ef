"""Bounds the connections that a stranger may hold, before any token is checked: a share for every source.

A source is an IPv4 address or an IPv6 /64. One that has more than its share, or the one that has most when all
connections are in use, loses the connection that it has not used for longest. So a new connection is always served.
Rejected: refusing the new one, because on loopback all users of the machine are one source.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from typing import Any

from waitress.channel import HTTPChannel

MOST = 128
SHARE = 32  # connections of one source; a browser opens 6
SETTINGS: dict[str, Any] = {
    "connection_limit": 2 * MOST,  # never reached: beyond it the server would stop accepting
    "channel_timeout": 30,  # seconds without an octet
    "cleanup_interval": 5,
    "max_request_body_size": 1 << 20,  # the largest request of a page has 20 KB
    "max_request_header_size": 1 << 14,
}


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection. When it is accepted and there are too many, another one is closed."""

    def __init__(self, server: Any, sock: Any, addr: Any, adj: Any, map: Any = None) -> None:
        super().__init__(server, sock, addr, adj, map=map)
        victim = _one_too_many(self, [one for one in server.active_channels.values() if not one.will_close])
        if victim:
            victim.will_close = True


def _one_too_many(new: Channel, channels: list[Channel]) -> Channel | None:
    """The connection to close because of ``new``; None while there is room. One that is waiting for an answer is not
    closed."""
    held = Counter(map(_source, channels))
    most = _source(new) if held[_source(new)] > SHARE else held.most_common(1)[0][0]
    if held[most] <= SHARE and len(channels) <= MOST:
        return None
    idle = [one for one in channels if one is not new and _source(one) == most and not one.requests]
    return min(idle, key=lambda one: one.last_activity, default=None)


def _source(channel: Channel) -> str:
    address = ipaddress.ip_address(str(channel.addr[0]).partition("%")[0])
    if address.version == 4:
        return str(address)
    return str(address.ipv4_mapped or ipaddress.ip_network((address, 64), strict=False))
