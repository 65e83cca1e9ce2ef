"""One session of rttcp between two hosts: for benches, and for measuring what a machine is good for."""

from __future__ import annotations

from typing import Any

import rttcp
from netcommon import binaries
from netcommon.ledger import Ledger
from netcommon.process import Tool
from scenarios.network.host_pair import ADDRESSES, Hosts

LENGTH_BYTES = 128 << 10


def session(pair: Hosts, ledger: Ledger, seconds: float, **options: Any) -> rttcp.End:
    """A session of ``seconds`` from the sender to the receiver; ``options`` are ``rttcp.sender_argv``'s. LfpError when
    it does not complete."""
    binary = binaries.find("rttcp")
    receive = rttcp.receiver_argv(binary, once=True)
    settings: dict[str, Any] = {"congestion": "cubic", "length_bytes": LENGTH_BYTES} | options
    send = rttcp.sender_argv(ADDRESSES[1], binary, duration_ns=int(seconds * 1e9), **settings)
    with (
        rttcp.listening(receive, netns_pid=pair.receiver, name="rttcp receiver", ledger=ledger),
        Tool(send, netns_pid=pair.sender, name="rttcp sender", ledger=ledger) as sender,
    ):
        return rttcp.finished(sender, seconds + settings.get("omit_ns", 0) / 1e9 + 60.0)
