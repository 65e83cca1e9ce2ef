"""A near gateway for the tests of proxies that clients ask: SOCKS5, HTTP CONNECT, or connections that are redirected to
it. It connects to the server itself; the far gateway of such a pair does nothing. Any Python runs it, without other
modules.

usage: proxy_relay.py socks5|http|transparent ADDRESS PORT
"""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
import threading

SO_ORIGINAL_DST = 80


def asked(sock: socket.socket, kind: str) -> tuple[str, int]:
    """Returns the address and port that a client asks for, after answering the client."""
    if kind == "transparent":
        port, address = struct.unpack("!2xH4s8x", sock.getsockopt(socket.SOL_IP, SO_ORIGINAL_DST, 16))
        return socket.inet_ntoa(address), port
    if kind == "http":
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += sock.recv(1)
        host, _, port = head.split()[1].decode().rpartition(":")
        sock.sendall(b"HTTP/1.1 200 OK\r\nVia: a test\r\n\r\n")
        return host, int(port)
    assert sock.recv(2, socket.MSG_WAITALL) == b"\5\1" and sock.recv(1) == b"\0"
    sock.sendall(b"\5\0")
    assert sock.recv(4, socket.MSG_WAITALL) == b"\5\1\0\1"
    address, port = struct.unpack("!4sH", sock.recv(6, socket.MSG_WAITALL))
    sock.sendall(b"\5\0\0\1" + bytes(6))
    return socket.inet_ntoa(address), port


def carry(client: socket.socket, kind: str) -> None:
    with client, socket.create_connection(asked(client, kind)) as server:
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        back = threading.Thread(target=copy, args=(server, client))
        back.start()
        copy(client, server)
        back.join()


def copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while part := source.recv(65_536):
            sink.sendall(part)
        sink.shutdown(socket.SHUT_WR)


def main(kind: str, address: str, port: str) -> None:
    with socket.create_server((address, int(port)), backlog=1024) as listener:
        while True:
            client, _ = listener.accept()
            threading.Thread(target=carry, args=(client, kind), daemon=True).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
