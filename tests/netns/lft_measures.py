"""The times at which gateways act by timers, in seconds: measured in virtual time (support.virtual), where they are
exact.

Nothing here transfers without a pause, because that would take long in virtual time.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lft_lab import ROUTER, SERVER, Lab, in_netns, lft_lab, until

from netcommon.netns import call_in

PORT, SILENT = 8000, 9090


@contextmanager
def gateways(*options: str) -> Iterator[Lab]:
    """A running pair of gateways in the router model over a path of 10 ms."""
    with lft_lab(delay="5ms", spin="0") as lab, lab.gateways(*ROUTER, *options):
        yield lab


@contextmanager
def connected(lab: Lab) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection through them."""
    with lab.listen(4, PORT) as listener:
        client = lab.connect(SERVER[4], PORT)
        server, _ = listener.accept()
    with client, server:
        for end in (client, server):
            end.settimeout(60)
            end.sendall(b"?")
        assert client.recv(1) == server.recv(1) == b"?"
        yield client, server


def _reset_after_s(end: socket.socket, began: float) -> float:
    try:
        end.recv(1)
    except ConnectionResetError:
        return time.monotonic() - began
    raise AssertionError("no reset")


def dead_path() -> dict[str, float]:
    """``bypassed``: time from the cut of the path until the bypass. ``back``: time from its repair until the bypass
    ends. ``outages``: how many the two gateways count."""
    with gateways() as lab:
        until(lambda: lab.show()["uptime_ns"] > 2e9, 60, "at work for a while")
        lab.set_path(loss="100%")
        bypassed_s = until(lambda: bool(lab.show()["bypassed"]), 60, "bypassed")
        lab.set_path(loss="0%")
        back_s = lab.wait_accelerating()
        outages = sum(lab.show(which)["tunnel"]["outages"] for which in ("near", "far"))
        return {"bypassed": bypassed_s, "back": back_s, "outages": outages}


def idle_reset(limit: str) -> list[float]:
    """When an idle connection is reset, counted from its last octet, at the client and at the server."""
    with gateways("--idle-limit", limit) as lab, connected(lab) as (client, server):
        began = time.monotonic()
        return [_reset_after_s(client, began), _reset_after_s(server, began)]


def outage_reset(limit: str) -> list[float]:
    """After the tunnel is cut."""
    with gateways("--outage-max", limit) as lab, connected(lab) as (client, server):
        lab.cut_tunnel(True)
        began = time.monotonic()
        return [_reset_after_s(client, began), _reset_after_s(server, began)]


def drain_reset(limit: str) -> list[float]:
    """When the two ends of an open connection are reset after SIGTERM, and how long the gateway took to end."""
    with gateways("--drain", limit) as lab, connected(lab) as (client, server):
        began = time.monotonic()
        os.kill(lab.running["near"].pid, signal.SIGTERM)
        found = [_reset_after_s(client, began), _reset_after_s(server, began)]
        lab.running["near"].finish(60)
        return [*found, time.monotonic() - began]


def half_open_expired(limit: str) -> dict[str, float]:
    """A connect to a port that never answers: how many are half-open at once, and when the gateway gives up."""
    with gateways("--half-open-limit", limit, "--half-open", "4") as lab:
        silent = f"chain in {{ type filter hook input priority 0; tcp dport {SILENT} drop; }};"
        in_netns(lab.server, "nft", f"table inet silent {{ {silent}}}")
        sock: socket.socket = call_in(lab.client, socket.socket)
        with sock:
            sock.setblocking(False)
            sock.connect_ex((SERVER[4], SILENT))
            until(lambda: lab.show()["relay"]["half_open"] == 1, 60, "half-open")
            took_s = until(lambda: lab.show()["relay"]["half_open_expired"] >= 1, 60, "expired")
        return {"expired": took_s, "left": lab.show()["relay"]["half_open"]}
