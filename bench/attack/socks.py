"""Connections through a SOCKS5 proxy from source addresses of choice, as coroutines: for programs in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Callable, Coroutine
from typing import Any

from bench.gateway_lab import bound

PATIENCE_S = 15.0  # how long a client waits for a connection
_AGAIN_S = 0.25  # time between two attempts of a greedy source


def request(host: str, port: int) -> bytes:
    """CONNECT to an IPv4 address or a name."""
    try:
        destination = b"\1" + ipaddress.IPv4Address(host).packed
    except ValueError:
        destination = b"\3" + bytes([len(host)]) + host.encode()
    return b"\5\1\0" + destination + port.to_bytes(2, "big")


async def connect(source: str, proxy: tuple[str, int], host: str, port: int) -> socket.socket:
    """A connection through the proxy. ConnectionError when it is refused or ended."""
    loop, sock = asyncio.get_running_loop(), bound(source)
    try:
        await loop.sock_connect(sock, proxy)
        await loop.sock_sendall(sock, b"\5\1\0")
        await exactly(sock, 2)
        await loop.sock_sendall(sock, request(host, port))
        answer = await exactly(sock, 10)
        if answer[1]:
            raise ConnectionRefusedError(f"SOCKS5 reply {answer[1]}")
    except BaseException:
        sock.close()
        raise
    return sock


async def exactly(sock: socket.socket, n: int) -> bytes:
    """Reads this many octets. ConnectionError when the connection ends before."""
    loop, got = asyncio.get_running_loop(), b""
    while len(got) < n:
        part = await loop.sock_recv(sock, n - len(got))
        if not part:
            raise ConnectionResetError("ended")
        got += part
    return got


async def echoes(sock: socket.socket, timeout_s: float = 5) -> bool:
    """Whether an octet comes back."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(timeout_s):
            await loop.sock_sendall(sock, b"?")
            return await exactly(sock, 1) == b"?"
    except (OSError, TimeoutError):
        return False


class Echo(asyncio.Protocol):
    """A server's connection that returns what it gets."""

    def connection_made(self, transport: Any) -> None:
        """It begins."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """What came goes back."""
        self._transport.write(data)


Open = Callable[[], Coroutine[Any, Any, socket.socket]]


class Greedy:
    """Tries to hold ``n`` connections, and opens another one as soon as it loses one. A context manager, inside a
    running loop. ``held``: the open connections."""

    def __init__(self, n: int, opens: Open, again_s: float = _AGAIN_S) -> None:
        self.held: set[socket.socket] = set()
        self._n, self._opens, self._again_s = n, opens, again_s
        self._tasks: list[asyncio.Task[None]] = []

    async def _hold(self, after_s: float) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(after_s)
        while True:
            with contextlib.suppress(OSError):
                sock = await self._opens()
                self.held.add(sock)
                try:
                    while await loop.sock_recv(sock, 4096):
                        pass
                finally:
                    self.held.discard(sock)
                    sock.close()
            await asyncio.sleep(self._again_s)

    async def __aenter__(self) -> Greedy:
        each_s = self._again_s / self._n
        self._tasks = [asyncio.create_task(self._hold(each_s * number)) for number in range(self._n)]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def in_time(opens: Open) -> socket.socket | None:
    """The connection, if it is established in time."""
    with contextlib.suppress(OSError, TimeoutError):
        return await asyncio.wait_for(opens(), PATIENCE_S)
    return None


async def at_once(opens: Open, n: int) -> list[socket.socket]:
    """Opens this many connections at the same time; returns those that are established."""
    return [sock for sock in await asyncio.gather(*(in_time(opens) for _ in range(n))) if sock]


async def in_turn(opens: Open, n: int) -> list[socket.socket]:
    """Opens this many connections one after the other, until one fails."""
    made: list[socket.socket] = []
    while len(made) < n and (sock := await in_time(opens)):
        made.append(sock)
    return made
