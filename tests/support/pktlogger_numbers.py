"""Captures of a connection that began with another sequence number, as the far connection of a relay does."""

from __future__ import annotations

import struct
from pathlib import Path

ENHANCED, ETHERNET = 6, 14
PORT, SEQ, ACK, DATA = 0, 4, 8, 28


def renumber(file: Path, port: int, shift: int) -> None:
    """Adds `shift` to the numbers of what the side with `port` sent: its own, and the other side's acknowledgements of
    them. A pcapng file of Ethernet and IPv4."""
    data, at = bytearray(file.read_bytes()), 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == ENHANCED:
            tcp = at + DATA + ETHERNET + 4 * (data[at + DATA + ETHERNET] & 0xF)
            (source,) = struct.unpack_from("!H", data, tcp + PORT)
            place = tcp + (SEQ if source == port else ACK)
            (number,) = struct.unpack_from("!I", data, place)
            struct.pack_into("!I", data, place, (number + shift) % 2**32)
        at += length
    file.write_bytes(data)
