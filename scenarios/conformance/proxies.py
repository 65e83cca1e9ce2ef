"""The client's side of proxy protocols, until the connection leads to the server: SOCKS5 without a password (RFC 1928),
HTTP CONNECT (RFC 9110, 9.3.6). The answer is read octet by octet, so that no data of the server are consumed.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket

_OK, _TYPES = 0, {1: 4, 4: 16}  # octets of an address of each type
_ERRORS = {3: errno.ENETUNREACH, 4: errno.EHOSTUNREACH, 5: errno.ECONNREFUSED, 6: errno.ETIMEDOUT}
_MOST_OCTETS = 8192


async def ask(sock: socket.socket, proxy: str, host: str, port: int) -> None:
    """Asks the proxy for a connection. OSError when the proxy refuses; for SOCKS5 with the errno that its answer
    means."""
    await (_connect if proxy == "http" else _socks5)(sock, host, port)


async def _socks5(sock: socket.socket, host: str, port: int) -> None:
    loop, address = asyncio.get_running_loop(), ipaddress.ip_address(host)
    await loop.sock_sendall(sock, b"\5\1\0")
    if await _octets(sock, 2) != b"\5\0":
        raise _refused("the proxy wants a password")
    request = bytes([5, 1, 0, 1 if address.version == 4 else 4]) + address.packed + port.to_bytes(2, "big")
    await loop.sock_sendall(sock, request)
    version, answer, _, kind = await _octets(sock, 4)
    if version != 5 or answer != _OK:
        raise OSError(_ERRORS.get(answer, errno.ECONNREFUSED), f"the proxy refuses ({answer})")
    size = _TYPES.get(kind) or (await _octets(sock, 1))[0]
    await _octets(sock, size + 2)


async def _connect(sock: socket.socket, host: str, port: int) -> None:
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    await asyncio.get_running_loop().sock_sendall(sock, f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n") and len(head) < _MOST_OCTETS:
        head += await _octets(sock, 1)
    status = head.split(b" ", 2)[1:2]
    if not head.startswith(b"HTTP/1.") or not status or not status[0].startswith(b"2"):
        raise _refused(head.partition(b"\r\n")[0].decode("latin-1"))


async def _octets(sock: socket.socket, count: int) -> bytes:
    octets = b""
    while len(octets) < count:
        part = await asyncio.get_running_loop().sock_recv(sock, count - len(octets))
        if not part:
            raise _refused("the proxy closes the connection")
        octets += part
    return octets


def _refused(why: str) -> OSError:
    return OSError(errno.ECONNREFUSED, why)
