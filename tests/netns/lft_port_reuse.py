"""Clients that use one port again and again for the same server, or a port that is taken on the far gateway's host:
rows of the conformance table (lft_behaviours.py).

Both ends' addresses are kept, so the gateways have sockets with the ends' own addresses and ports. The kernel's remains
of those sockets must not block the next connection, and neither must another listener there.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import struct
import time
from collections.abc import Callable

from lft_lab import CLIENT, SERVER, Lab, in_netns

from netcommon.netns import call_in

TIMES = 50
# Of struct tcp_info (linux/tcp.h): tcpi_total_retrans.
TOTAL_RETRANS = struct.Struct("100xI")
TCP_REPAIR = 19
Closing = Callable[[socket.socket, socket.socket], None]


def prepare(lab: Lab) -> None:
    """A client that may use a port again at once although it closed first, as busy hosts are set (RFC 6191)."""
    in_netns(lab.client, "sysctl", "-qw", "net.ipv4.tcp_tw_reuse=1")
    in_netns(lab.client, "sysctl", "-qw", "-e", "net.ipv4.tcp_tw_reuse_delay=1")  # Linux before 6.14: 1 s


def client_first(client: socket.socket, server: socket.socket) -> None:
    client.shutdown(socket.SHUT_WR)
    assert server.recv(1) == b""
    server.close()
    assert client.recv(1) == b""
    client.close()


def server_first(client: socket.socket, server: socket.socket) -> None:
    server.close()
    assert client.recv(1) == b""
    client.close()


def client_resets(client: socket.socket, server: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    with contextlib.suppress(ConnectionResetError):
        server.recv(1)
    server.close()


CLOSINGS: dict[str, Closing] = {
    "the server closes first": server_first,
    "the client closes first": client_first,
    "the client resets": client_resets,
}


def _begin(lab: Lab, family: int, port: int) -> socket.socket:
    """A connection from the client's ``port`` to the server's ``port``, as soon as the client's kernel allows it."""
    deadline = time.monotonic() + 5
    while True:
        client: socket.socket = call_in(lab.client, socket.socket, socket.AF_INET6 if family == 6 else socket.AF_INET)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        client.bind((CLIENT[family], port))
        client.settimeout(60)
        try:
            client.connect((SERVER[family], port))
        except OSError as error:
            client.close()
            if error.errno != errno.EADDRNOTAVAIL or time.monotonic() > deadline:
                raise
            time.sleep(0.001)
        else:
            return client


def _connect(lab: Lab, family: int, port: int) -> tuple[socket.socket, int]:
    """Connects as `_begin` does. Returns the connection, and how often its SYN had to be sent again."""
    client = _begin(lab, family, port)
    (again,) = TOTAL_RETRANS.unpack(client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TOTAL_RETRANS.size))
    return client, again


def reuse(closing: Closing) -> Callable[[Lab, int, int], str]:
    """Uses one port many times, with an octet in each direction; returns the failure, or that there was none."""

    def act(lab: Lab, family: int, port: int) -> str:
        repeated = 0
        with lab.listen(family, port) as listener:
            for number in range(TIMES):
                try:
                    client, again = _connect(lab, family, port)
                except OSError as error:
                    return f"connect {number}: {errno.errorcode.get(error.errno or 0, type(error).__name__)}"
                server, _ = listener.accept()
                server.settimeout(60)
                with client, server:
                    client.sendall(b"?")
                    server.sendall(server.recv(1))
                    assert client.recv(1) == b"?"
                    closing(client, server)
                repeated += again if number else 0  # the first SYN waits for ARP, and reuses no port
        # A busy machine may delay one SYN for a second. A socket that blocks the next connection does so every time.
        return f"{TIMES} connections" + (f", {repeated} SYNs sent again" if repeated > TIMES // 10 else "")

    return act


def forgotten(lab: Lab, family: int, port: int) -> str:
    """A client that knows nothing of its connection any more, as after a crash, connects from the same port."""
    with lab.listen(family, port) as listener:
        lost = _begin(lab, family, port)
        before, _ = listener.accept()
        lost.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
        lost.close()  # in silence
        with before, _begin(lab, family, port) as client:
            server, _ = listener.accept()
            with server:
                for end in (before, server):
                    end.settimeout(60)
                client.sendall(b"?")
                heard = server.recv(1).decode()
            try:
                end_of_before = str(before.recv(1))
            except OSError as error:
                end_of_before = errno.errorcode[error.errno or 0]
    return f"connected, {heard}; the one before: {end_of_before}"


def taken_at_the_far_gateway(lab: Lab, family: int, port: int) -> str:
    """A client whose port has the number of one at which the far gateway's host listens on all of its addresses."""
    kind = socket.AF_INET6 if family == 6 else socket.AF_INET
    with call_in(lab.far, socket.socket, kind) as other, lab.listen(family, port) as listener:
        if family == 6:
            other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        other.bind(("", port))
        other.listen()
        try:
            client = _begin(lab, family, port)
        except OSError as error:
            return errno.errorcode.get(error.errno or 0, type(error).__name__)
        server, _ = listener.accept()
        with client, server:
            client.settimeout(60)
            server.settimeout(60)
            client.sendall(b"?")
            server.sendall(server.recv(1))
            same = server.getpeername()[:2] == client.getsockname()[:2]
            return f"{client.recv(1).decode()} there and back, addresses {'kept' if same else 'changed'}"
