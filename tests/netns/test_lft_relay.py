"""Models, carriages and proxies. test_lft_conformance.py tests what client and server notice of each other."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest
from lft_behaviours import send_and_close_half
from lft_lab import CLIENT, GATEWAY, ROUTER, SERVER, Lab, inside, lft_lab, until

pytestmark = [pytest.mark.netns]

PORT = 8000
BULK = 3_000_000


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    proxies = (
        "--forward",
        f"{GATEWAY[4]}:7000={SERVER[4]}:{PORT}",
        "--socks5",
        f"{GATEWAY[4]}:7001",
        "--http-connect",
        f"{GATEWAY[4]}:7002",
    )
    with lft_lab() as made:
        try:
            made.start("far", *ROUTER)
            made.start("near", *ROUTER, *proxies)
            made.wait_accelerating()
            yield made
        finally:
            for which in list(made.running):
                made.stop(which)


def read_all(end: socket.socket) -> bytes:
    parts = []
    while part := end.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def outcome(action: Callable[[], object]) -> object:
    """The value that an action returns, or the name of its error."""
    try:
        return action()
    except OSError as error:
        return type(error).__name__, error.errno


Pair = tuple[socket.socket, socket.socket]


def pair(lab: Lab, family: int, listener: socket.socket) -> Pair:
    client = lab.connect(SERVER[family], PORT)
    server, _ = listener.accept()
    server.settimeout(60)
    return client, server


def addresses(client: socket.socket, server: socket.socket) -> object:
    return client.getsockname()[:2] == server.getpeername()[:2], client.getpeername()[:2] == server.getsockname()[:2]


def half_close(client: socket.socket, server: socket.socket) -> object:
    data = os.urandom(BULK)
    sender = threading.Thread(target=send_and_close_half, args=(client, data))
    sender.start()
    digest = hashlib.sha256(read_all(server)).hexdigest()
    sender.join()
    server.sendall(digest.encode())
    server.close()
    return read_all(client) == hashlib.sha256(data).hexdigest().encode()


def run_behaviour(lab: Lab, family: int, behaviour: Callable[[socket.socket, socket.socket], object]) -> object:
    with lab.listen(family, PORT) as listener:
        client, server = pair(lab, family, listener)
        with client, server:
            return behaviour(client, server)


def test_client_is_not_accepted_before_the_server_answered(lab: Lab) -> None:
    """The client is connected after a whole round trip of the path, 10 ms, so no proxy in between accepted it."""
    with lab.listen(4, PORT) as listener:
        client, server = pair(lab, 4, listener)
        with client, server:
            rtt_us = struct.unpack_from("I", client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), 68)[0]
    assert rtt_us >= 10_000, f"the client measured {rtt_us} us on its SYN"


def test_only_tcp_is_taken_over(lab: Lab) -> None:
    done = subprocess.run(inside(lab.client, "ping", "-c", "1", "-W", "5", SERVER[4]), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stdout


def answer_once(listener: socket.socket, body: bytes) -> threading.Thread:
    def serve() -> None:
        end, _ = listener.accept()
        with end:
            end.settimeout(60)
            while b"\r\n\r\n" not in end.recv(1 << 16):
                pass
            end.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + body)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("arguments", "url"),
    [
        ([], f"http://{GATEWAY[4]}:7000/"),
        (["-x", f"socks5h://{GATEWAY[4]}:7001"], f"http://{SERVER[4]}:{PORT}/"),
        (["-p", "-x", f"http://{GATEWAY[4]}:7002"], f"http://{SERVER[4]}:{PORT}/"),
        (["-x", f"http://{GATEWAY[4]}:7002"], f"http://{SERVER[4]}:{PORT}/"),
        ([], f"http://{SERVER[4]}:{PORT}/"),
    ],
    ids=["forward", "socks5", "http-connect", "http-get", "router"],
)
def test_curl_gets_its_page(lab: Lab, arguments: list[str], url: str) -> None:
    body = os.urandom(100_000)
    with lab.listen(4, PORT) as listener:
        thread = answer_once(listener, body)
        argv = inside(lab.client, "curl", "-sS", "--noproxy", "", *arguments, url)
        done = subprocess.run(argv, capture_output=True, timeout=60)
        thread.join(90)
    assert done.stdout == body, done.stderr.decode()


def test_a_proxy_tells_of_a_refusal(lab: Lab) -> None:
    argv = inside(lab.client, "curl", "-sS", "-x", f"socks5h://{GATEWAY[4]}:7001", f"http://{SERVER[4]}:81/")
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert done.returncode == 97 and "(5)" in done.stderr, (
        done.stderr
    )  # curl: proxy handshake error; SOCKS5: connection refused


def test_nothing_is_left_of_a_hundred_connections(lab: Lab) -> None:
    with lab.listen(4, PORT) as listener:
        for _ in range(100):
            client, server = pair(lab, 4, listener)
            client.close()
            server.close()
    for which in ("near", "far"):
        for part, of in (("relay", "connections"), ("session", "streams")):
            until(partial(has_none, lab, which, part, of), 60, f"without {of}")


def has_none(lab: Lab, which: str, part: str, of: str) -> bool:
    return bool(lab.show(which)[part][of] == 0)


@pytest.mark.parametrize(("outer", "carriage"), [(6, "udp"), (4, "esp"), (6, "esp")])
def test_other_carriages(outer: int, carriage: str) -> None:
    with lft_lab() as lab, lab.gateways(*ROUTER, outer=outer, carriage=carriage):
        assert run_behaviour(lab, 4, half_close) is True
        until(lambda: not lab.show()["tunnel"]["mtu_search"], 60, "the path MTU is found")
        assert 1380 < lab.show()["tunnel"]["payload_bytes"] < 1500


@pytest.mark.parametrize("family", [4, 6])
def test_hosts_that_are_their_own_gateways(family: int) -> None:
    """Host model at both ends: the applications connect and listen as without gateways, and see each other's
    addresses."""
    with lft_lab() as lab:
        hosts = replace(lab, near=lab.client, far=lab.server)
        with hosts.stopping():
            hosts.start("far", "--host", listen=f"{SERVER[4]}:2004")
            hosts.start("near", "--host", listen=f"{CLIENT[4]}:2004", peer=f"{SERVER[4]}:2004")
            hosts.wait_accelerating()
            assert run_behaviour(hosts, family, addresses) == (True, True)
            assert run_behaviour(hosts, family, half_close) is True
            assert outcome(lambda: hosts.connect(SERVER[family], 81)) == ("ConnectionRefusedError", errno.ECONNREFUSED)
            assert hosts.show()["relay"]["near_accepted"] == 2
