"""A name server that answers late, or not at all."""

from __future__ import annotations

import asyncio
import ipaddress
from typing import Any

_HEADER = 12


class Names(asyncio.DatagramProtocol):
    """Answers questions for names that begin with ``late`` after ``late_s`` with ``address``, and no other question."""

    def __init__(self, address: str, late_s: float) -> None:
        self._address, self._late_s = ipaddress.IPv4Address(address).packed, late_s

    def connection_made(self, transport: Any) -> None:
        """It begins."""
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """A question."""
        if data[_HEADER + 1 :].startswith(b"late"):
            asyncio.get_running_loop().call_later(self._late_s, self._transport.sendto, self._answer(data), addr)

    def _answer(self, question: bytes) -> bytes:
        end = question.index(b"\0", _HEADER) + 5
        is_a = question[end - 4 : end - 2] == b"\0\1"
        head = question[:2] + b"\x81\x80\0\1" + bytes([0, is_a, 0, 0, 0, 0])
        record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + self._address
        return head + question[_HEADER:end] + (record if is_a else b"")
