"""A server that answers early and closes with octets unread, while its client still sends: the answer always arrives,
in both models, with and without loss between the gateways."""

from __future__ import annotations

import fcntl
import random
import socket
import struct
import termios
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from lft_lab import GATEWAY, ROUTER, SERVER, Lab, lft_lab, until

pytestmark = [pytest.mark.netns, pytest.mark.timeout(300)]

PORT, FORWARD_PORT = 8000, 7000
CONNECTIONS, AT_ONCE = 100, 10
SIZES = {"100 octets": 100, "200 KB": 200 << 10}
MODELS = {"router": (SERVER[4], PORT), "proxy": (GATEWAY[4], FORWARD_PORT)}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lft_lab() as made, made.stopping():
        made.start("far", *ROUTER)
        made.start("near", *ROUTER, "--forward", f"{GATEWAY[4]}:{FORWARD_PORT}={SERVER[4]}:{PORT}")
        made.wait_accelerating()
        yield made


def answer_early(server: socket.socket, answer: bytes) -> None:
    """Reads one octet, answers, and closes as soon as the answer has left: more octets of the client are unread, or on
    their way, so the server's system resets the connection."""
    with server:
        server.settimeout(60)
        server.recv(1)
        server.sendall(answer)
        deadline = time.monotonic() + 60
        while len(answer) > 100 and struct.unpack("i", fcntl.ioctl(server, termios.TIOCOUTQ, bytes(4)))[0]:
            assert time.monotonic() < deadline, "the gateway does not take the answer"
            time.sleep(0.001)


def serve(listener: socket.socket, answer: bytes) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in range(CONNECTIONS):
            server, _ = listener.accept()
            pool.submit(answer_early, server, answer)


def upload(client: socket.socket) -> str:
    """Sends until that fails; returns the error's name."""
    while True:
        try:
            client.sendall(bytes(1 << 16))
        except OSError as error:
            return type(error).__name__


def one(lab: Lab, where: tuple[str, int], answer: bytes) -> str:
    """What a client gets that sends for as long as it can, and how that ends."""
    with lab.connect(*where) as client, ThreadPoolExecutor(1) as pool:
        sender = pool.submit(upload, client)
        got, ends = bytearray(), set()
        try:
            while part := client.recv(1 << 16):
                got += part
        except OSError as error:
            ends.add(type(error).__name__)
        ends.add(sender.result(60))
    whole = "the answer" if bytes(got) == answer else f"{len(got)} octets"
    # Of the two threads one gets the reset; the other one then reads an end, or writes to a closed socket.
    return f"{whole}, {'reset' if 'ConnectionResetError' in ends else sorted(ends)}"


def nothing_is_left(lab: Lab, which: str) -> bool:
    shown = lab.show(which)
    return not shown["session"]["streams"] and not shown["relay"]["connections"]


@pytest.mark.parametrize("loss", ["0%", "5%"])
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES.keys())
@pytest.mark.parametrize("model", MODELS)
def test_every_early_answer_arrives(lab: Lab, model: str, size: int, loss: str) -> None:
    answer = random.Random(size).randbytes(size)
    lab.set_path(loss=loss)
    with lab.listen(4, PORT) as listener, ThreadPoolExecutor(AT_ONCE) as pool:
        server = threading.Thread(target=serve, args=(listener, answer))
        server.start()
        got = Counter(pool.map(lambda _: one(lab, MODELS[model], answer), range(CONNECTIONS)))
        server.join(120)
    lab.set_path(loss="0%")
    assert got == {"the answer, reset": CONNECTIONS}
    for which in ("near", "far"):
        until(partial(nothing_is_left, lab, which), 60, "without streams and connections")
