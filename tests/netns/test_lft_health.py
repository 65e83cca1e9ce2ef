"""Gateways and tunnels that go away: traffic flows on, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading

import pytest
from comet_box import in_netns
from lft_lab import SERVER, Lab, lft_lab, until

from netcommon.binaries import find

pytestmark = pytest.mark.netns

ROUTER = ("--router", "--lan", "lan0")
PORT = 8000


def works(lab: Lab) -> bool:
    """A new connection carries an octet both ways."""
    with lab.listen(4, PORT) as listener, lab.connect(SERVER[4], PORT) as client:
        server, _ = listener.accept()
        with server:
            server.settimeout(5)
            client.sendall(b"?")
            server.sendall(server.recv(1))
            return client.recv(1) == b"?"


def test_connections_survive_an_outage_and_new_ones_go_around_it() -> None:
    with lft_lab(delay="5ms") as lab, lab.gateways(*ROUTER):
        with lab.listen(4, PORT) as listener, lab.connect(SERVER[4], PORT) as client:
            server, _ = listener.accept()
            server.settimeout(15)
            client.sendall(b"before")
            assert server.recv(6, socket.MSG_WAITALL) == b"before"
            # Only the tunnel is cut: UDP of the gateways.
            cut = "table inet cut { chain in { type filter hook input priority 0; udp dport 2004 drop; };}"
            in_netns(lab.far, "nft", cut)
            in_netns(lab.near, "nft", cut)
            took_s = until(lambda: bool(lab.show()["bypassed"]), 5, "bypassed")
            assert took_s < 2, f"bypass after {took_s:.2f} s"
            assert works_beside(lab), "a new connection while the tunnel is dead"
            client.sendall(b"during")
            for gateway in (lab.near, lab.far):
                in_netns(gateway, "nft", "delete table inet cut")
            assert server.recv(6, socket.MSG_WAITALL) == b"during"
            server.close()
        lab.wait_accelerating()
        syns = lab.show()["router"]["syns"]
        assert works(lab)
        assert lab.show()["router"]["syns"] == syns + 1, "acceleration did not return"


def works_beside(lab: Lab) -> bool:
    with lab.listen(4, PORT + 1) as listener, lab.connect(SERVER[4], PORT + 1) as client:
        server, _ = listener.accept()
        with server:
            client.sendall(b"!")
            return server.recv(1) == b"!"


def test_restart_of_the_far_gateway_resets_its_connections_and_goes_on() -> None:
    with lft_lab(delay="5ms") as lab, lab.gateways(*ROUTER):
        with lab.listen(4, PORT) as listener, lab.connect(SERVER[4], PORT) as client:
            server, _ = listener.accept()
            seen: list[object] = []
            reader = threading.Thread(target=lambda: seen.append(receive(client)))
            reader.start()
            lab.stop("far")
            lab.start("far", *ROUTER)
            reader.join(15)
            assert seen and seen[0] == "ConnectionResetError", seen
            server.close()
        lab.wait_accelerating()
        assert works(lab)


def receive(end: socket.socket) -> object:
    end.settimeout(15)
    try:
        return end.recv(1)
    except OSError as error:
        return type(error).__name__


def pids(netns: str) -> list[int]:
    lines = subprocess.run(["ip", "netns", "pids", netns], capture_output=True, text=True, check=True).stdout.split()
    return [int(pid) for pid in lines if os.path.realpath(f"/proc/{pid}/exe").endswith("lft-gateway")]


def test_a_killed_gateway_lets_traffic_pass_and_clean_removes_its_rules() -> None:
    with lft_lab(delay="5ms") as lab:
        lab.start("far", *ROUTER)
        near = lab.start("near", *ROUTER)
        try:
            lab.wait_accelerating()
            (pid,) = pids(lab.near)
            os.kill(pid, signal.SIGKILL)
            until(lambda: not pids(lab.near), 5, "killed")
            assert works(lab)
            assert "table inet lft" in in_netns(lab.near, "nft", "list", "tables")
            in_netns(lab.near, str(find("lft-gateway")), "clean")
            assert "table inet lft" not in in_netns(lab.near, "nft", "list", "tables")
            assert "fwmark" not in in_netns(lab.near, "ip", "rule") + in_netns(lab.near, "ip", "-6", "rule")
        finally:
            lab.running.pop("near")
            near.__exit__(None, None, None)
            lab.stop("far")
        assert "table inet lft" not in in_netns(lab.far, "nft", "list", "tables"), (
            "left by a gateway that ended in order"
        )
        assert "fwmark" not in in_netns(lab.far, "ip", "rule")
