"""Gateways and tunnels that fail: traffic continues, connections survive or end for a reason, and nothing is left."""

from __future__ import annotations

import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lft_lab import CLIENT, GATEWAY, ROUTER, SERVER, Lab, in_netns, lft_lab, test_program, until
from lft_transfer import transfer, wait_received

from netcommon.binaries import find
from netcommon.netns import call_in

pytestmark = [pytest.mark.netns, pytest.mark.timeout(180)]

PORT, PROXY, BESIDE = 8000, 7000, 8001
FAR_LAN = "10.82.0.1"
FORWARD = ("--forward", f"{GATEWAY[4]}:{PROXY}={SERVER[4]}:{BESIDE}")
OUTAGE_S = 4.0


@contextmanager
def running(near: tuple[str, ...] = (), far: tuple[str, ...] = ()) -> Iterator[Lab]:
    """A running pair of gateways in the router model, with further options for each."""
    with lft_lab(delay="5ms") as lab, lab.stopping():
        lab.start("far", *ROUTER, *far)
        lab.start("near", *ROUTER, *near)
        lab.wait_accelerating()
        yield lab


@contextmanager
def connected(lab: Lab, port: int) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection."""
    with lab.listen(4, port) as listener:
        client = lab.connect(SERVER[4], port)
        server, _ = listener.accept()
    with client, server:
        for end in (client, server):
            end.settimeout(60)
        yield client, server


def works(lab: Lab, port: int = PORT, address: str = SERVER[4], client_port: int = 0) -> bool:
    """A new connection carries an octet both ways."""
    with lab.listen(4, port) as listener, lab.connect(address, client_port or port) as client:
        server, _ = listener.accept()
        with server:
            server.settimeout(60)
            client.sendall(b"?")
            server.sendall(server.recv(1))
            return client.recv(1) == b"?"


def works_by_proxy(lab: Lab) -> bool:
    return works(lab, BESIDE, GATEWAY[4], PROXY)


def accelerated(lab: Lab) -> bool:
    """Checks that connections of router and proxy work, and returns whether both went through the tunnel. On a busy
    machine the tunnel may have been silent for a second; then connections bypass it."""
    before = lab.show()
    assert works(lab) and works_by_proxy(lab)
    now = lab.show()
    router = now["router"]["syns"] - before["router"]["syns"]
    return bool(
        router == 1
        and now["relay"]["near_accepted"] - before["relay"]["near_accepted"] == 2
        and now["relay"]["near_direct"] == before["relay"]["near_direct"]
    )


def told_by_proxy(lab: Lab) -> str:
    """The outcome for a client of the proxy. A reset may arrive before connect() has returned."""
    try:
        with lab.connect(GATEWAY[4], PROXY) as client:
            return receive(client)
    except OSError as error:
        return type(error).__name__


def receive(end: socket.socket) -> str:
    """What a reader sees: data, the end, or the name of an error."""
    end.settimeout(60)
    try:
        return "data" if end.recv(1) else "end of data"
    except OSError as error:
        return type(error).__name__


def test_some_seconds_without_a_path() -> None:
    """Connections of router and proxy, busy and idle, wait and go on; bypass begins and ends by itself.
    test_lft_exact.py tests when it begins, and that the gateways count one outage."""
    with running(FORWARD) as lab, connected(lab, PORT + 5) as (idle, idle_server):
        with transfer(lab, PORT) as routed, transfer(lab, BESIDE, GATEWAY[4], PROXY) as proxied:
            wait_received(routed, 100_000, 60)
            wait_received(proxied, 100_000, 60)
            lab.set_path(loss="100%")
            began = time.monotonic()
            took_s = until(lambda: bool(lab.show()["bypassed"]), 60, "bypassed")
            until(lambda: time.monotonic() > began + OUTAGE_S, 60, "over")
            lab.set_path(loss="0%")
            back_s = lab.wait_accelerating()
            wait_received(routed, 100_000, 60)
            wait_received(proxied, 100_000, 60)
            routed.check()
            proxied.check()
        idle.sendall(b"still here")
        assert idle_server.recv(10, socket.MSG_WAITALL) == b"still here"
        print(f"bypass after {took_s:.2f} s, back {back_s:.2f} s after the path")
        for which in ("near", "far"):
            tunnel = lab.show(which)["tunnel"]
            assert tunnel["associations"] == 1 and tunnel["outages"] >= 1, tunnel
        assert works(lab) and works_by_proxy(lab)


def test_new_connections_go_around_a_dead_tunnel() -> None:
    """Without a tunnel, router connections are routed. Proxies connect from the near gateway's host with
    --proxy-bypass, and wait without it."""
    far_forward = ("--forward", f"{FAR_LAN}:{PROXY}={CLIENT[4]}:{BESIDE}")
    near = (*FORWARD, "--proxy-bypass")
    with running(near, far_forward) as lab, connected(lab, PORT) as (client, server):
        until(lambda: accelerated(lab), 60, "accelerating")
        until(lambda: lab.show()["relay"]["connections"] == 1, 60, "nothing left of those that tried the tunnel")
        direct = lab.show()["relay"]["near_direct"]
        lab.cut_tunnel(True)
        until(lambda: bool(lab.show()["bypassed"]), 60, "bypassed")
        assert works(lab, PORT + 1), "a new connection while the tunnel is dead"
        assert works_by_proxy(lab), "a proxy's new connection while the tunnel is dead"
        with transfer(lab, BESIDE, GATEWAY[4], PROXY) as flow:
            wait_received(flow, 3_000_000, 60)
            flow.check()
        assert told_by_proxy(lab) == "ConnectionResetError", "nobody listens: a static proxy tells by a reset"
        assert lab.show()["relay"]["near_direct"] == direct + 3
        until(lambda: lab.show()["relay"]["connections"] == 1, 60, "nothing left of those but the one in the tunnel")
        client.sendall(b"during")
        with asking_at_far(lab) as answers:
            until(lambda: lab.show("far")["relay"]["half_open"] == 1, 60, "waiting for the tunnel")
            lab.cut_tunnel(False)
        assert answers == ["data"], "the one that waited did not get through"
        assert server.recv(6, socket.MSG_WAITALL) == b"during"
        until(lambda: accelerated(lab), 60, "accelerating again")


@contextmanager
def asking_at_far(lab: Lab) -> Iterator[list[str]]:
    """A client of the far gateway's proxy, whose server is on the near side. The list gets what the client received,
    when it has received all."""
    answers: list[str] = []

    def ask() -> None:
        with call_in(lab.server, socket.create_connection, (FAR_LAN, PROXY), 60) as client:
            answers.append(receive(client))

    with call_in(lab.client, socket.create_server, (CLIENT[4], BESIDE)) as listener:
        listener.settimeout(60)
        thread = threading.Thread(target=ask)
        thread.start()
        yield answers
        server, _ = listener.accept()
        server.sendall(b"!")
        thread.join(90)
        server.close()


def test_an_outage_that_is_too_long_resets_both_ends() -> None:
    with running(("--outage-max", "2s"), ("--outage-max", "2s")) as lab, connected(lab, PORT) as (client, server):
        lab.cut_tunnel(True)
        assert (receive(client), receive(server)) == ("ConnectionResetError", "ConnectionResetError")
        lab.cut_tunnel(False)
        for which in ("near", "far"):
            assert lab.show(which)["tunnel"]["failed_streams_outage"] == 1, which
        lab.wait_accelerating()
        assert works(lab)


@pytest.mark.parametrize("victim", ["near", "far"])
def test_a_killed_gateway_resets_its_connections_and_comes_back(victim: str) -> None:
    """No end may mistake partial data for complete data: each gets a reset instead of an end of data, one at once and
    the other when the gateway is back."""
    other = "far" if victim == "near" else "near"
    with running() as lab, connected(lab, PORT) as (client, server), transfer(lab, BESIDE) as flow:
        wait_received(flow, 100_000, 60)
        lab.kill(victim)
        assert receive(client if victim == "near" else server) == "ConnectionResetError"
        if victim == "near":
            assert works(lab), "a new connection while the gateway is gone"
        lab.start(victim, *ROUTER)
        lab.wait_accelerating()
        assert receive(server if victim == "near" else client) == "ConnectionResetError"
        flow.wait()
        assert flow.errors, "the transfer ended as if it were whole"
        assert lab.show(other)["tunnel"]["failed_streams_restart"] == 2
        assert works(lab)
        until(lambda: lab.show(victim)["relay"]["connections"] == 0, 60, "without connections")


def test_a_killed_gateway_lets_traffic_pass_and_clean_removes_its_rules() -> None:
    with running() as lab:
        lab.kill("near")
        assert works(lab)
        assert "table inet lft" in in_netns(lab.near, "nft", "list", "tables")
        in_netns(lab.near, str(find("lft-gateway")), "clean")
        assert "table inet lft" not in in_netns(lab.near, "nft", "list", "tables")
        assert "fwmark" not in in_netns(lab.near, "ip", "rule") + in_netns(lab.near, "ip", "-6", "rule")
        lab.stop("far")
        assert "table inet lft" not in in_netns(lab.far, "nft", "list", "tables"), "left by one that ended in order"
        assert "fwmark" not in in_netns(lab.far, "ip", "rule")


def test_a_gateway_that_stood_still_goes_on() -> None:
    """A gateway is stopped for twice the time of an outage, like a suspended machine: its peer bypasses the tunnel, and
    all connections go on."""
    with running() as lab, transfer(lab, PORT) as flow:
        wait_received(flow, 100_000, 60)
        os.kill(lab.running["far"].pid, signal.SIGSTOP)
        try:
            until(lambda: bool(lab.show()["bypassed"]), 60, "bypassed")
            until(lambda: lab.show()["tunnel"]["outages"] == 1, 60, "an outage to its peer")
        finally:
            os.kill(lab.running["far"].pid, signal.SIGCONT)
        wait_received(flow, 100_000, 60)
        lab.wait_accelerating()
        flow.check()
        assert lab.show("far")["tunnel"]["associations"] == 1


class Clocks:
    """Moves a gateway's clocks, by a file whose offsets lft-clockjump adds to them."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(16))
        self._file = path.open("r+b")
        self.environment = [
            "env",
            f"LD_PRELOAD={test_program('lft-clockjump.so')}",
            f"CLOCKJUMP={path}",
            "ASAN_OPTIONS=verify_asan_link_order=0",
        ]

    def move(self, monotonic_s: int, realtime_s: int) -> None:
        self._file.seek(0)
        self._file.write(struct.pack("=qq", monotonic_s * 10**9, realtime_s * 10**9))
        self._file.flush()


def test_clocks_that_jump() -> None:
    """The time of day does not matter. A jump of the monotonic clock by a minute does not count as silence of the
    peer."""
    with lft_lab(delay="5ms") as lab:
        clocks = Clocks(lab.folder / "clocks")
        lab.program = [*clocks.environment, str(find("lft-gateway"))]
        with lab.gateways(*ROUTER, "--dead", "20s", "--outage-max", "30s"), transfer(lab, PORT) as flow:
            uptime_s = lab.show()["uptime_ns"] / 1e9
            for monotonic_s, realtime_s in ((0, 86400), (0, -10 * 365 * 86400), (60, 0), (61, 0)):
                clocks.move(monotonic_s, realtime_s)
                wait_received(flow, 200_000, 60)
            flow.check()
            assert lab.show()["uptime_ns"] / 1e9 > uptime_s + 60, "the clock was not moved"
            for which in ("near", "far"):
                tunnel = lab.show(which)["tunnel"]
                assert (tunnel["associations"], tunnel["outages"]) == (1, 0), tunnel
            assert works(lab)
