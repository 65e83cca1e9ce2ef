"""Limits on connections, draining, a shrinking path MTU, and that nothing is left of two thousand connections."""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from lft_churn import Left, churn, left
from lft_lab import CLIENT, ROUTER, SERVER, Lab, in_netns, lft_lab, until
from lft_transfer import transfer, wait_received

from netcommon.netns import call_in

pytestmark = [pytest.mark.netns, pytest.mark.timeout(180)]

PORT, SILENT = 8000, 9090
CONNECTIONS = int(os.environ.get("LFP_CHURN", "2000"))


@contextmanager
def running(*near: str, far: tuple[str, ...] = ()) -> Iterator[Lab]:
    """A running pair of gateways in the router model, with further options for each; a port of the server never
    answers."""
    with lft_lab(delay="2ms") as lab, lab.stopping():
        lab.start("far", *ROUTER, *far)
        lab.start("near", *ROUTER, *near)
        lab.wait_accelerating()
        silent = f"chain in {{ type filter hook input priority 0; tcp dport {SILENT} drop; }};"
        in_netns(lab.server, "nft", f"table inet silent {{ {silent}}}")
        yield lab


def pair(lab: Lab, port: int = PORT) -> tuple[socket.socket, socket.socket]:
    with lab.listen(4, port) as listener:
        client = lab.connect(SERVER[4], port)
        server, _ = listener.accept()
    server.settimeout(60)
    return client, server


def begun(lab: Lab, port: int) -> socket.socket:
    """A connect that is under way."""
    sock: socket.socket = call_in(lab.client, socket.socket)
    sock.setblocking(False)
    sock.connect_ex((SERVER[4], port))
    return sock


def seen_by(end: socket.socket) -> str:
    try:
        return "data" if end.recv(1) else "end of data"
    except OSError as error:
        return type(error).__name__


def test_half_open_connections_have_a_number_and_a_time() -> None:
    """A further half-open connection evicts the oldest, so silent ports keep nobody out."""
    with running("--half-open", "4", "--half-open-limit", "4s") as lab:
        client, server = pair(lab)
        waiting = [begun(lab, SILENT) for _ in range(8)]
        until(lambda: lab.show()["relay"]["half_open_evicted"] >= 4, 60, "replaced")
        assert lab.show()["relay"]["half_open"] == 4
        for end in pair(lab, PORT + 2):
            end.close()
        client.sendall(b"x")
        assert server.recv(1) == b"x", "one that is established goes on"
        until(lambda: lab.show()["relay"]["half_open_expired"] >= 4, 60, "expired")
        for sock in waiting:
            sock.close()
        until(lambda: lab.show()["relay"]["half_open"] == 0, 60, "none is half-open")
        assert lab.show()["relay"]["connections"] == 1
        for end in (*pair(lab, PORT + 1), client, server):
            end.close()


def test_no_more_than_so_many_connections() -> None:
    """A further connection of the same client is routed as if there were no gateway."""
    with running("--sessions", "3") as lab:
        pairs = [pair(lab, PORT + i) for i in range(4)]
        state = lab.show()
        assert state["router"]["syns_routed"] >= 1 and state["relay"]["connections"] == 3
        for client, server in pairs:
            client.sendall(b"x")
            assert server.recv(1) == b"x"
        for end in (end for ends in pairs for end in ends):
            end.close()
        until(lambda: lab.show()["relay"]["connections"] == 0, 60, "none is left")
        for end in pair(lab, PORT + 4):
            end.close()
        assert lab.show()["relay"]["near_accepted"] == 4


def test_excluded_networks_are_routed_around_the_tunnel() -> None:
    network = str(ipaddress.ip_network(f"{SERVER[4]}/24", strict=False))
    with running("--exclude", "192.0.2.0/25", "--exclude", network, "--exclude", "2001:db8:1::/48") as lab:
        client, server = pair(lab)
        client.sendall(b"x")
        assert server.recv(1) == b"x"
        state = lab.show()
        assert state["router"]["syns"] == 0 and state["relay"]["connections"] == 0
        client.close()
        server.close()


def test_idle_connections_are_reset_and_busy_ones_not() -> None:
    with running("--idle-limit", "1s") as lab, transfer(lab, PORT) as busy:
        client, server = pair(lab, PORT + 1)
        began = time.monotonic()
        client.settimeout(60)
        assert (seen_by(client), seen_by(server)) == ("ConnectionResetError", "ConnectionResetError")
        assert time.monotonic() - began > 0.9, "too early"
        assert lab.show()["relay"]["idle_closed"] == 1
        busy.check()
        client.close()
        server.close()


def test_sigterm_drains() -> None:
    """Existing connections continue, new ones bypass the gateway, and it exits in order with the last connection."""
    with running("--drain", "20s") as lab:
        near = lab.running["near"]
        with transfer(lab, PORT) as flow:
            wait_received(flow, 100_000, 60)
            os.kill(near.pid, signal.SIGTERM)
            until(lambda: bool(lab.show()["draining"]), 60, "draining")
            syns = lab.show()["router"]["syns"]
            for end in pair(lab, PORT + 1):
                end.close()
            state = lab.show()
            assert state["router"]["syns"] == syns and state["bypassed"], "a new connection was taken over"
            wait_received(flow, 1_000_000, 60)
            assert near.running()
            flow.check()
        state = near.finish(60)
        assert state["event"] == "end" and state["relay"]["connections"] == 0 and state["session"]["reset_here"] == 0
        assert "table inet lft" not in in_netns(lab.near, "nft", "list", "tables")


def test_draining_has_an_end() -> None:
    with running("--drain", "1s") as lab:
        near = lab.running["near"]
        client, server = pair(lab)
        client.settimeout(60)
        os.kill(near.pid, signal.SIGTERM)
        assert (seen_by(client), seen_by(server)) == ("ConnectionResetError", "ConnectionResetError")
        state = near.finish(60)
        assert state["draining"] and state["session"]["reset_here"] == 1
        client.close()
        server.close()


@pytest.mark.parametrize("where", ["router", "device"])
def test_a_path_that_shrinks_under_a_transfer(where: str) -> None:
    """The hosts are their own gateways. During the transfer the MTU of the routers, or of their interfaces, becomes
    1,300."""
    with lft_lab(delay="2ms") as lab, lab.stopping():
        near, far = lab.near, lab.far
        lab.near, lab.far = lab.client, lab.server
        lab.start("far", "--host", listen=f"{SERVER[4]}:2004")
        lab.start("near", "--host", "--rate", "40Mbit", listen=f"{CLIENT[4]}:2004", peer=f"{SERVER[4]}:2004")
        lab.wait_accelerating()
        until(lambda: not lab.show()["tunnel"]["mtu_search"], 60, "the path MTU is known")
        assert lab.show()["tunnel"]["payload_bytes"] == 1438
        with transfer(lab, PORT) as flow:
            wait_received(flow, 100_000, 60)
            interface = "wan" if where == "router" else "eth0"
            for netns in (near, far) if where == "router" else (lab.client, lab.server):
                in_netns(netns, "ip", "link", "set", interface, "mtu", "1300")
            wait_received(flow, 3_000_000, 60)
            flow.check()
        until(lambda: not lab.show()["tunnel"]["mtu_search"], 60, "the path MTU is known again")
        tunnel = lab.show()["tunnel"]
        assert 1200 < tunnel["payload_bytes"] <= 1238, "not what the path takes now"
        assert tunnel["outages"] == 0 and tunnel["associations"] == 1


def test_nothing_is_left_of_two_thousand_connections() -> None:
    """No descriptor, memory or state is left, compared with the gateway after the first 500 connections."""
    with running() as lab:
        churn(lab, 500)
        before = {which: left(lab, which) for which in ("near", "far")}
        churn(lab, CONNECTIONS)
        for which, first in before.items():
            wait_empty(lab, which)
            wait_closed(lab, which, first.descriptors)
            now = left(lab, which)
            print(which, first, now)
            rings = now.rings_bytes - first.rings_bytes
            assert now.resident_bytes <= first.resident_bytes + rings + (1 << 20), f"{first} {now}"


def wait_closed(lab: Lab, which: str, descriptors: int) -> None:
    """Waits until the gateway has no more descriptors than these: it closes the test's control connection a little
    later, and a leaked descriptor never."""
    until(lambda: left(lab, which).descriptors <= descriptors, 60, f"{descriptors} descriptors")


def wait_empty(lab: Lab, which: str) -> None:
    """Waits until the gateway has no connection, stream or octet."""
    until(lambda: left(lab, which).state == Left().state, 60, f"without state: {left(lab, which)}")
