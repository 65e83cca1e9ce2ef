"""A transfer that goes on until the test stops it, every octet checked: ``with transfer(…) as flow: …``."""

from __future__ import annotations

import hashlib
import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lft_lab import SERVER, Lab, until

PART = random.Random(4).randbytes(1 << 16)


class Transfer:
    """Octets from one connected end to the other. ``errors``: what broke it, by the name of the exception."""

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self._source, self._sink = source, sink
        self._stop = threading.Event()
        self._sent, self._got = hashlib.sha256(), hashlib.sha256()
        self.received = 0
        self.errors: list[str] = []
        for end in (source, sink):
            end.settimeout(30)
        self._threads = [threading.Thread(target=self._guard, args=(act,)) for act in (self._send, self._receive)]
        for thread in self._threads:
            thread.start()

    def _guard(self, act: Callable[[], None]) -> None:
        try:
            act()
        except OSError as error:
            self.errors.append(type(error).__name__)

    def _send(self) -> None:
        while not self._stop.is_set():
            self._source.sendall(PART)
            self._sent.update(PART)
        self._source.shutdown(socket.SHUT_WR)

    def _receive(self) -> None:
        while part := self._sink.recv(1 << 16):
            self._got.update(part)
            self.received += len(part)

    def wait(self) -> None:
        """Waits until both ends have learned that the transfer is over, by an end or by an error."""
        for thread in self._threads:
            thread.join(90)
            assert not thread.is_alive(), "the transfer hangs"

    def check(self) -> None:
        """Ends it; all octets must have arrived as they were sent."""
        self._stop.set()
        self.wait()
        assert not self.errors, self.errors
        assert self.received and self._got.digest() == self._sent.digest(), "not the octets that were sent"

    def close(self) -> None:
        self._stop.set()
        self._source.close()
        self._sink.close()


@contextmanager
def transfer(lab: Lab, port: int, address: str = SERVER[4], client_port: int = 0) -> Iterator[Transfer]:
    """From the client to the server at ``port``; ``address`` and ``client_port`` are a proxy's, where there is one."""
    with lab.listen(4, port) as listener:
        client = lab.connect(address, client_port or port)
        server, _ = listener.accept()
    flow = Transfer(client, server)
    try:
        yield flow
    finally:
        flow.close()


def wait_received(flow: Transfer, more: int, timeout_s: float) -> None:
    """Waits until so many more octets have arrived."""
    wanted = flow.received + more
    until(lambda: flow.received >= wanted or bool(flow.errors), timeout_s, f"{more} octets further ({flow.errors})")
    assert not flow.errors, flow.errors
