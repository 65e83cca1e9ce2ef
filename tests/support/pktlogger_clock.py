"""Captures of a clock that is ahead, drifts and is stepped: a pcapng or pcap file with other time stamps."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

ENHANCED, INTERFACE, RESOLUTION = 6, 1, 9


def retimed(source: Path, target: Path, clock: Callable[[int], int]) -> None:
    """Writes `source` with the times that `clock` showed, which gets and returns nanoseconds."""
    data = bytearray(source.read_bytes())
    (pcapng if data[:4] == b"\x0a\x0d\x0d\x0a" else pcap)(data, clock)
    target.write_bytes(data)


def pcap(data: bytearray, clock: Callable[[int], int]) -> None:
    scale = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}[struct.unpack_from("<I", data)[0]]
    at = 24
    while at < len(data):
        seconds, fraction, captured = struct.unpack_from("<III", data, at)
        shown = clock(seconds * 10**9 + fraction * scale)
        struct.pack_into("<II", data, at, shown // 10**9, shown % 10**9 // scale)
        at += 16 + captured


def pcapng(data: bytearray, clock: Callable[[int], int]) -> None:
    at, resolutions = 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == INTERFACE:
            resolutions.append(_resolution(bytes(data[at + 16 : at + length - 4])))
        if kind == ENHANCED:
            interface, high, low = struct.unpack_from("<III", data, at + 8)
            shown = clock((high << 32 | low) * resolutions[interface]) // resolutions[interface]
            struct.pack_into("<II", data, at + 12, shown >> 32, shown & 0xFFFFFFFF)
        at += length


def _resolution(options: bytes) -> int:
    """Nanoseconds of a tick."""
    at = 0
    while at + 4 <= len(options):
        code, length = struct.unpack_from("<HH", options, at)
        if code == RESOLUTION:
            assert options[at + 4] in (6, 9), options[at + 4]
            return 1 if options[at + 4] == 9 else 1000
        at += 4 + (length + 3) // 4 * 4
    return 1000
