"""rttcp between two bench hosts: a session, and what its end object says."""

from __future__ import annotations

from typing import Any

import rttcp
from netcommon import binaries
from netcommon.errors import LfpError
from netcommon.ledger import Ledger
from netcommon.process import Tool
from scenarios.bench.two_hosts import ADDRESSES, Hosts

READY_S = 5.0
LENGTH_BYTES = 128 << 10


def session(pair: Hosts, ledger: Ledger, seconds: float, **options: Any) -> rttcp.End:
    """One session of so many seconds from the sender to the receiver; ``options`` are ``rttcp.sender_argv``'s."""
    binary = binaries.find("rttcp")
    receive = rttcp.receiver_argv(binary, once=True)
    with Tool(receive, netns_pid=pair.receiver, name="rttcp receiver", ledger=ledger) as server:
        server.wait_event("ready", READY_S)
        settings: dict[str, Any] = {"congestion": "cubic", "length_bytes": LENGTH_BYTES} | options
        argv = rttcp.sender_argv(ADDRESSES[1], binary, duration_ns=int(seconds * 1e9), **settings)
        with Tool(argv, netns_pid=pair.sender, name="rttcp sender", ledger=ledger) as sender:
            end = rttcp.parse_end(sender.wait_event("end", seconds + settings.get("omit_ns", 0) / 1e9 + 60.0))
        if not end.complete:
            raise LfpError(f"rttcp: {end.error or 'incomplete'}")
        return end
