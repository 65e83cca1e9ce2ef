"""A capture of full TCP packets with text in them, and rules that do not occur in it: for `pktlogger match`."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

PAYLOAD, CONNECTIONS, TRAIN = 1448, 50, 8
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_TEXT = b"etaoinshrdlu cmfwypvbgkqjxz ETAOIN 0123456789\r\n/.:=-"
_CHUNK = TRAIN * CONNECTIONS


def write(file: Path, packets: int) -> int:
    """A nanosecond pcap of `packets` packets of 1,448 bytes in 50 connections that take turns. Returns the bytes of
    payload. The text is drawn letter by letter; seed 1."""
    draw = np.random.default_rng(1)
    alphabet = np.frombuffer(_TEXT, np.uint8)
    record = np.frombuffer(_record(), np.uint8)
    numbers = np.zeros(CONNECTIONS, np.uint64)
    with file.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for first in range(0, packets, _CHUNK):
            rows = np.tile(record, (_CHUNK, 1))
            rows[:, 70:] = alphabet[draw.integers(0, alphabet.size, (_CHUNK, PAYLOAD), dtype=np.uint8)]
            connection = np.arange(_CHUNK) // TRAIN
            number = numbers[connection] + (np.arange(_CHUNK) % TRAIN * PAYLOAD).astype(np.uint64)
            _big_endian(rows, 50, 2, 1000 + connection)
            _big_endian(rows, 54, 4, number % 2**32)
            numbers += np.uint64(TRAIN * PAYLOAD)
            out.write(rows[: packets - first].tobytes())
    return packets * PAYLOAD


def _record() -> bytes:
    """The header of a record of the file, Ethernet, IPv4 and TCP: 70 bytes, and the payload's room."""
    length = 14 + 20 + 20 + PAYLOAD
    ip = struct.pack("!BBHHHBBH", 0x45, 0, length - 14, 1, 0x4000, 64, 6, 0) + bytes([10, 0, 0, 1, 10, 0, 0, 2])
    tcp = struct.pack("!HHIIBBHHH", 0, 80, 0, 1, 0x50, 0x10, 65535, 0, 0)
    return struct.pack("<IIII", 1, 0, length, length) + bytes(12) + b"\x08\x00" + ip + tcp + bytes(PAYLOAD)


def _big_endian(rows: np.ndarray, at: int, size: int, values: np.ndarray) -> None:
    rows[:, at : at + size] = values.astype(f">u{size}").view(np.uint8).reshape(-1, size)


def rules(file: Path, strings: int, expressions: int) -> Path:
    """A file of rules: random strings of 8 to 24 letters, and expressions between such strings; seed 1."""
    draw = random.Random(1)
    lines = [f's{i} string "{_word(draw, range(8, 25))}"' for i in range(strings)]
    lines += [
        f"e{i} regex /{_word(draw, range(6, 7))}[a-z0-9]{{2,8}}{_word(draw, range(4, 5))}/" for i in range(expressions)
    ]
    file.write_text("\n".join(lines) + "\n", encoding="ascii")
    return file


def _word(draw: random.Random, lengths: Sequence[int]) -> str:
    return "".join(draw.choices(_LETTERS, k=draw.choice(lengths)))
