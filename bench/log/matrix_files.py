"""Capture files of every form that pktlogger reads: classic pcap and pcapng, both byte orders, packed or not."""

from __future__ import annotations

import gzip
import lzma
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa


@dataclass(frozen=True)
class Frame:
    """A packet of a capture: what was captured of it, and its length on the wire."""

    t_ns: int
    data: bytes
    wire: int
    interface: int = 0


@dataclass(frozen=True)
class Form:
    """How a capture is written: byte order, nanoseconds in its times, pcapng, and longer heads of records."""

    order: str
    nano: bool
    ng: bool
    modified: bool = False


FORMS = {
    "pcap, µs": Form("<", False, False),
    "pcap, µs, big-endian": Form(">", False, False),
    "pcap, ns": Form("<", True, False),
    "pcap, ns, big-endian": Form(">", True, False),
    "pcap, modified": Form("<", False, False, True),
    "pcapng, ns": Form("<", True, True),
    "pcapng, ns, big-endian": Form(">", True, True),
    "pcapng, µs": Form("<", False, True),
}
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    "gz": gzip.compress,
    "xz": lzma.compress,
    "lz4": lambda data: pa.Codec("lz4").compress(data).to_pybytes(),
    "zst": lambda data: pa.Codec("zstd").compress(data).to_pybytes(),
}


def octets(frames: list[Frame], linktype: int, form: Form, interfaces: int) -> bytes:
    """The file, not packed."""
    return _pcapng(frames, linktype, form, interfaces) if form.ng else _classic(frames, linktype, form)


def write(folder: Path, name: str, data: bytes, packing: str) -> Path:
    """Writes the file, and returns its path."""
    path = folder / (name + (packing and "." + packing))
    path.write_bytes(PACKINGS[packing](data))
    return path


def _classic(frames: list[Frame], linktype: int, form: Form) -> bytes:
    magic = 0xA1B2CD34 if form.modified else 0xA1B23C4D if form.nano else 0xA1B2C3D4
    out = [struct.pack(form.order + "IHHiIII", magic, 2, 4, 0, 0, 262144, linktype)]
    for one in frames:
        fraction = one.t_ns % 10**9 // (1 if form.nano else 1000)
        more = struct.pack(form.order + "IHBB", 2, 0, 0, 0) if form.modified else b""
        out.append(struct.pack(form.order + "IIII", one.t_ns // 10**9, fraction, len(one.data), one.wire) + more)
        out.append(one.data)
    return b"".join(out)


def _pcapng(frames: list[Frame], linktype: int, form: Form, interfaces: int) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        length = struct.pack(form.order + "I", len(body) + 12)
        return struct.pack(form.order + "I", kind) + length + body + length

    def option(code: int, value: bytes) -> bytes:
        return struct.pack(form.order + "HH", code, len(value)) + value + bytes(-len(value) % 4)

    out = [block(0x0A0D0D0A, struct.pack(form.order + "IHHq", 0x1A2B3C4D, 1, 0, -1))]
    for number in range(interfaces):
        text = option(2, f"eth{number}".encode()) + (option(9, b"\x09") if form.nano else b"") + bytes(4)
        out.append(block(1, struct.pack(form.order + "HHI", linktype, 0, 262144) + text))
    for one in frames:
        ticks = one.t_ns // (1 if form.nano else 1000)
        head = (one.interface, ticks >> 32, ticks & 0xFFFFFFFF, len(one.data), one.wire)
        out.append(block(6, struct.pack(form.order + "IIIII", *head) + one.data))
    return b"".join(out)
