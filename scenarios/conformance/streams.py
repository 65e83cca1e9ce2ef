"""Connections of a case's clients and servers, and their octets, each of which is compared with what was sent.

Everything waits in one event loop, so a case with a thousand connections needs no thread for each. What a case finds
wrong is a `Failure`, whose text is one line of evidence.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import random
import socket
import struct
from collections.abc import AsyncIterator

from netcommon import readable

QUIET_S = 60.0  # a stream without activity for this long hangs
_PART_BYTES = 1 << 18


class Failure(Exception):
    """What a gateway did wrong, in one line."""


class Late(Exception):
    """Something did not happen in its time. Not TimeoutError, which is also ETIMEDOUT of a connection."""


@contextlib.asynccontextmanager
async def within(seconds: float) -> AsyncIterator[None]:
    """Raises `Late` when the block takes longer."""
    try:
        async with asyncio.timeout(seconds) as scope:
            yield
    except TimeoutError:
        if scope.expired():
            raise Late(f"not within {span(seconds)}") from None
        raise


class NotApplicable(Exception):
    """Why a case does not apply to these gateways, in one line."""


def pattern(seed: int, size: int) -> bytes:
    """The octets of a stream. The octets of two seeds are unrelated, so that octets of another stream are
    recognised."""
    return random.Random(seed).randbytes(size)


async def send(sock: socket.socket, data: bytes) -> None:
    """Writes all octets. Failure when nothing can be written for `QUIET_S`; OSError when the connection breaks."""
    loop, view = asyncio.get_running_loop(), memoryview(data)
    for at in range(0, len(data), _PART_BYTES):
        try:
            async with within(QUIET_S):
                await loop.sock_sendall(sock, view[at : at + _PART_BYTES])
        except Late:
            raise Failure(f"the writer hangs: nothing taken for {span(QUIET_S)} at {_place(at, len(data))}") from None


async def receive(sock: socket.socket, data: bytes, *, ends: bool = True, what: str = "the stream") -> None:
    """Reads ``data`` and, where it ``ends``, the end of the stream. Failure with the first octet that is wrong."""
    at, total = 0, len(data)
    while at < total:
        part = await _read(sock, min(_PART_BYTES, total - at), what, at, total)
        if not part:
            raise Failure(f"{what} ended at {_place(at, total)}: {total - at} octets are lost")
        if part != data[at : at + len(part)]:
            raise Failure(_wrong(part, data, at, what))
        at += len(part)
    if ends and (more := await _read(sock, _PART_BYTES, what, at, total)):
        raise Failure(f"{what} has {len(more)} octets more than the {total} that were sent")


async def _read(sock: socket.socket, size: int, what: str, at: int, total: int) -> bytes:
    try:
        async with within(QUIET_S):
            return await asyncio.get_running_loop().sock_recv(sock, size)
    except Late:
        raise Failure(f"{what} hangs: nothing for {span(QUIET_S)} at {_place(at, total)}") from None
    except OSError as error:
        raise Failure(f"{what} broke at {_place(at, total)}: {name_of(error)}") from None


def _wrong(part: bytes, data: bytes, at: int, what: str) -> str:
    first = next(n for n, octet in enumerate(part) if octet != data[at + n])
    got, sent = part[first], data[at + first]
    bits = (got ^ sent).bit_count()
    flipped = "1 bit differs" if bits == 1 else f"{bits} bits differ"
    return f"{what}: {_place(at + first, len(data))} is 0x{got:02x} where 0x{sent:02x} was sent, {flipped}"


def _place(at: int, total: int) -> str:
    return f"octet {at} of {total}"


def span(seconds: float) -> str:
    """A time in words."""
    return readable.duration(seconds * 1e9)


def name_of(error: OSError) -> str:
    """``ECONNRESET``."""
    return errno.errorcode.get(error.errno or 0, type(error).__name__)


def reset(sock: socket.socket) -> None:
    """Ends a connection by a reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


async def outcome(sock: socket.socket, within_s: float) -> str:
    """The next event of a reader: ``end of data``, ``data``, ``nothing``, or an error's name."""
    try:
        async with within(within_s):
            return "data" if await asyncio.get_running_loop().sock_recv(sock, _PART_BYTES) else "end of data"
    except Late:
        return "nothing"
    except OSError as error:
        return name_of(error)
