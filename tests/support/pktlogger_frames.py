"""Builds captures by hand, so that every expected value is known: frames, pcapng in either byte order, pcap."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass, field
from pathlib import Path

FIN, SYN, RST, PSH, ACK, ECE, CWR, AE = 1, 2, 4, 8, 16, 64, 128, 256
ECT1, ECT0, CE = 1, 2, 3
A, B = "10.0.0.1", "10.0.0.2"
T0_NS = 1_700_000_000_000_000_000


def options(
    mss: int | None = None,
    wscale: int | None = None,
    sack_ok: bool = False,
    ts: tuple[int, int] | None = None,
    sack: tuple[tuple[int, int], ...] = (),
    accecn: tuple[int, ...] = (),
    accecn_kind: int = 172,
) -> bytes:
    """TCP options, padded to a multiple of four."""
    out = b""
    if mss is not None:
        out += struct.pack("!BBH", 2, 4, mss)
    if wscale is not None:
        out += struct.pack("!BBB", 3, 3, wscale)
    if sack_ok:
        out += b"\x04\x02"
    if ts is not None:
        out += struct.pack("!BBII", 8, 10, *ts)
    if sack:
        out += struct.pack("!BB", 5, 2 + 8 * len(sack)) + b"".join(struct.pack("!II", *block) for block in sack)
    if accecn:
        out += struct.pack("!BB", accecn_kind, 2 + 3 * len(accecn))
        out += b"".join(struct.pack("!I", count)[1:] for count in accecn)
    return out + b"\x01" * (-len(out) % 4)


@dataclass
class Packet:
    """One TCP packet as a capture with a short snap length holds it: headers, no payload."""

    t_ns: int
    src: tuple[str, int]
    dst: tuple[str, int]
    seq: int
    ack: int = 0
    flags: int = ACK
    length: int = 0
    window: int = 1000
    ip_id: int = 0
    options: bytes = b""
    ecn: int = 0

    def frame(self) -> tuple[bytes, int]:
        """Captured bytes and length on the wire."""
        tcp = struct.pack(
            "!HHIIBBHHH",
            self.src[1],
            self.dst[1],
            self.seq % 2**32,
            self.ack % 2**32,
            (20 + len(self.options)) // 4 << 4 | self.flags >> 8,
            self.flags & 255,
            self.window,
            0,
            0,
        )
        tcp += self.options
        v6 = ":" in self.src[0]
        family = socket.AF_INET6 if v6 else socket.AF_INET
        src, dst = socket.inet_pton(family, self.src[0]), socket.inet_pton(family, self.dst[0])
        if v6:
            ip = struct.pack("!IHBB", 6 << 28 | self.ecn << 20, len(tcp) + self.length, 6, 64) + src + dst
        else:
            total = 20 + len(tcp) + self.length
            ip = struct.pack("!BBHHHBBH", 0x45, self.ecn, total, self.ip_id % 65536, 0x4000, 64, 6, 0) + src + dst
        head = bytes(12) + (b"\x86\xdd" if v6 else b"\x08\x00") + ip + tcp
        return head, len(head) + self.length


def _option(order: str, code: int, value: bytes) -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def _block(order: str, kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    total = len(body) + 12
    return struct.pack(order + "II", kind, total) + body + struct.pack(order + "I", total)


@dataclass
class Pcapng:
    """A pcapng file under construction."""

    order: str = "<"
    blocks: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.section()

    def section(self) -> None:
        """A new section; interfaces count from 0 again."""
        self.blocks.append(_block(self.order, 0x0A0D0D0A, struct.pack(self.order + "IHHq", 0x1A2B3C4D, 1, 0, -1)))

    def interface(self, tsresol: int | None = 9, tsoffset_s: int = 0, link: int = 1, name: str = "") -> None:
        """An interface description."""
        text = _option(self.order, 2, name.encode()) if name else b""
        if tsresol is not None:
            text += _option(self.order, 9, bytes([tsresol]))
        if tsoffset_s:
            text += _option(self.order, 14, struct.pack(self.order + "q", tsoffset_s))
        self.blocks.append(_block(self.order, 1, struct.pack(self.order + "HHI", link, 0, 0) + text))

    def raw(self, kind: int, body: bytes) -> None:
        """Any block."""
        self.blocks.append(_block(self.order, kind, body))

    def packet(self, frame: tuple[bytes, int], ticks: int, interface: int = 0, comment: str = "") -> None:
        """An enhanced packet block."""
        data, wire = frame
        head = struct.pack(self.order + "IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, len(data), wire)
        note = bytes(-len(data) % 4) + _option(self.order, 1, comment.encode()) if comment else b""
        self.raw(6, head + data + note)

    def statistics(self, accepted: int, kernel: int, interface: int, delivered: int) -> None:
        """An interface statistics block for interface 0."""
        text = b"".join(
            _option(self.order, code, struct.pack(self.order + "Q", value))
            for code, value in ((6, accepted), (7, kernel), (5, interface), (8, delivered))
        )
        self.raw(5, struct.pack(self.order + "III", 0, 0, 0) + text)

    def write(self, path: Path) -> Path:
        """Writes the file."""
        path.write_bytes(b"".join(self.blocks))
        return path


def write_pcapng(path: Path, packets: list[Packet], order: str = "<") -> Path:
    """A nanosecond pcapng of one interface."""
    file = Pcapng(order)
    file.interface()
    for packet in packets:
        file.packet(packet.frame(), packet.t_ns)
    return file.write(path)


def write_pcap(path: Path, packets: list[Packet], order: str = "<", nano: bool = True) -> Path:
    """A classic pcap, nano- or microseconds."""
    out = struct.pack(order + "IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for packet in packets:
        data, wire = packet.frame()
        fraction = packet.t_ns % 10**9 // (1 if nano else 1000)
        out += struct.pack(order + "IIII", packet.t_ns // 10**9, fraction, len(data), wire) + data
    path.write_bytes(out)
    return path
