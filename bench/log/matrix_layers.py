"""The layers around a TCP packet in a capture: link header, VLAN tags, tunnel, IP.

Every header is complete with right lengths and checksums, so that every program that supports it can read it. Sources
are those of netcommon/src/packet: the list of link types of tcpdump.org, IEEE 802.1Q, and the documents that FORMAT.md
names for each tunnel.
"""

from __future__ import annotations

import random
import socket
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.log.matrix_talk import Segment, Talk

IPV4, IPV6, ETHERNET, MPLS, PPPOE = 0x0800, 0x86DD, 0x6558, 0x8847, 0x8864
TCP, UDP, GRE = 6, 17, 47
MAC = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
# The ends of the path, and of the tunnel around it.
HOSTS = {4: ("192.0.2.1", "198.51.100.2"), 6: ("2001:db8:1::1", "2001:db8:2::2")}
OUTER = {4: ("203.0.113.1", "203.0.113.2"), 6: ("2001:db8:a::1", "2001:db8:a::2")}


@dataclass(frozen=True)
class Way:
    """Values for one packet: its direction (0 from the sender's machine), the capture's interface, and numbers drawn
    once per capture."""

    side: int
    near: bool  # the packet leaves the captured machine
    interface: int
    ttl: int
    outer: int  # the version of IP around a tunnel
    t_ns: int
    seed: int

    def drawn(self, most: int) -> int:
        """A number that is the same in each packet of a capture."""
        return random.Random(self.seed).randrange(most)


def check_sum(data: bytes) -> int:
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return int(total) ^ 0xFFFF


def _raw(address: str) -> bytes:
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)


def ip(version: int, protocol: int, payload: bytes, ends: Sequence[str], ip_id: int, ttl: int) -> bytes:
    source, target = _raw(ends[0]), _raw(ends[1])
    if version == 6:
        return struct.pack("!IHBB", 6 << 28, len(payload), protocol, ttl) + source + target + payload
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), ip_id, 0x4000, ttl, protocol, 0) + source + target
    return head[:10] + struct.pack("!H", check_sum(head)) + head[12:] + payload


def transport(version: int, protocol: int, header: bytes, at: int, ends: Sequence[str]) -> bytes:
    """A segment or datagram with its check sum at `at`."""
    pseudo = _raw(ends[0]) + _raw(ends[1]) + struct.pack("!IBBBB", len(header), 0, 0, 0, protocol)
    total = check_sum(pseudo + header) or 0xFFFF
    return header[:at] + struct.pack("!H", total) + header[at + 2 :]


def tcp_packet(talk: Talk, segment: Segment, ttl: int) -> tuple[int, bytes, int]:
    """The version of IP, the packet, and where its TCP header begins."""
    version = 6 if talk.v6 else 4
    step = 1 if segment.from_sender else -1
    ends, ports = HOSTS[version][::step], talk.ports[::step]
    head = struct.pack("!HHIIBBHHH", *ports, segment.seq, segment.ack, (20 + len(segment.options)) << 2,
                       segment.flags, segment.window, 0, 0)  # fmt: skip
    payload = random.Random(segment.seq).randbytes(segment.length)
    tcp = transport(version, TCP, head + segment.options + payload, 16, ends)
    return version, ip(version, TCP, tcp, ends, segment.ip_id, ttl), 40 if talk.v6 else 20


# Tunnels. Each wraps an IP packet into the payload of a link header: a type, and octets that end with the packet.
Carried = tuple[int, bytes]


def _type(version: int) -> int:
    return IPV6 if version == 6 else IPV4


def _outer(way: Way, protocol: int, payload: bytes) -> Carried:
    step = 1 if way.side == 0 else -1
    return _type(way.outer), ip(way.outer, protocol, payload, OUTER[way.outer][::step], 0, way.ttl)


def _udp(way: Way, port: int, payload: bytes) -> Carried:
    head = struct.pack("!HHHH", 49152 + way.drawn(1000), port, 8 + len(payload), 0)
    step = 1 if way.side == 0 else -1
    ends = OUTER[way.outer][::step]
    return _outer(way, UDP, transport(way.outer, UDP, head + payload, 6, ends))


def _frame(way: Way, version: int, packet: bytes) -> bytes:
    """An Ethernet frame inside a tunnel, half of them with a tag."""
    tag = struct.pack("!HH", 0x8100, 7) if way.drawn(2) else b""
    return MAC[1 - way.side] + MAC[way.side] + tag + struct.pack("!H", _type(version)) + packet


def _labels(way: Way) -> bytes:
    count = 1 + way.drawn(3)
    return b"".join(struct.pack("!I", (100 + i) << 12 | (i == count - 1) << 8 | 64) for i in range(count))


def _gre(way: Way, protocol: int, payload: bytes, options: bool = False) -> Carried:
    if not options:
        return _outer(way, GRE, struct.pack("!HH", 0, protocol) + payload)
    head = struct.pack("!HHHHII", 0xB000, protocol, 0, 0, 42, 1)
    total = struct.pack("!H", check_sum(head + payload))
    return _outer(way, GRE, head[:4] + total + head[6:] + payload)


def _pppoe(protocol: int, payload: bytes) -> Carried:
    return PPPOE, struct.pack("!BBHHH", 0x11, 0, 0x1234, 2 + len(payload), protocol) + payload


def _vxlan(way: Way, version: int, packet: bytes) -> bytes:
    return struct.pack("!II", 0x08000000, 42 << 8) + _frame(way, version, packet)


def _geneve(options: int, protocol: int, payload: bytes) -> bytes:
    option = bytes.fromhex("010242010000002a")
    return struct.pack("!BBHI", options, 0, protocol, 42 << 8) + option * (options // 2) + payload


def _gtp(flags: int, more: bytes, packet: bytes) -> bytes:
    return struct.pack("!BBHI", flags, 255, len(more) + len(packet), 42) + more + packet


def _erspan2(way: Way, version: int, packet: bytes) -> bytes:
    return struct.pack("!HHII", 0x1000, 0x88BE, 1, 1 << 28 | 5 << 16 | 42) + bytes(4) + _frame(way, version, packet)


def _erspan3(way: Way, version: int, packet: bytes) -> bytes:
    more = way.drawn(2)
    head = struct.pack("!HHIII", 0x1000, 0x22EB, 1, 2 << 28 | 42, 1000) + struct.pack("!HH", 0, more)
    return head + bytes(8) * more + _frame(way, version, packet)


def _inner(version: int) -> int:
    return 41 if version == 6 else 4


TUNNELS: dict[str, Callable[[Way, int, bytes], Carried]] = {
    "none": lambda way, v, packet: (_type(v), packet),
    "GRE": lambda way, v, packet: _gre(way, _type(v), packet),
    "GRE with options": lambda way, v, packet: _gre(way, _type(v), packet, options=True),
    "GRE, Ethernet": lambda way, v, packet: _gre(way, ETHERNET, _frame(way, v, packet)),
    "IP in IP": lambda way, v, packet: _outer(way, _inner(v), packet),
    "MPLS": lambda way, v, packet: (MPLS, _labels(way) + packet),
    "MPLS in GRE": lambda way, v, packet: _gre(way, MPLS, _labels(way) + packet),
    "MPLS in IP": lambda way, v, packet: _outer(way, 137, _labels(way) + packet),
    "PPPoE": lambda way, v, packet: _pppoe(0x57 if v == 6 else 0x21, packet),
    "MPLS in PPPoE": lambda way, v, packet: _pppoe(0x281, _labels(way) + packet),
    "VXLAN": lambda way, v, packet: _udp(way, 4789, _vxlan(way, v, packet)),
    "VXLAN, port 8472": lambda way, v, packet: _udp(way, 8472, _vxlan(way, v, packet)),
    "GENEVE, Ethernet": lambda way, v, packet: _udp(way, 6081, _geneve(0, ETHERNET, _frame(way, v, packet))),
    "GENEVE, IP, options": lambda way, v, packet: _udp(way, 6081, _geneve(2, _type(v), packet)),
    "GTP-U": lambda way, v, packet: _udp(way, 2152, _gtp(0x30, b"", packet)),
    "GTP-U, numbered": lambda way, v, packet: _udp(way, 2152, _gtp(0x32, struct.pack("!HBB", 7, 0, 0), packet)),
    "GTP-U, extended": lambda way, v, packet: _udp(
        way, 2152, _gtp(0x34, struct.pack("!HBBBBBB", 0, 0, 0x85, 1, 0, 9, 0), packet)
    ),
    "ERSPAN I": lambda way, v, packet: _outer(way, GRE, struct.pack("!HH", 0, 0x88BE) + _frame(way, v, packet)),
    "ERSPAN II": lambda way, v, packet: _outer(way, GRE, _erspan2(way, v, packet)),
    "ERSPAN III": lambda way, v, packet: _outer(way, GRE, _erspan3(way, v, packet)),
    "IP in IP in GRE": lambda way, v, packet: _gre(way, _type(way.outer), _outer(way, _inner(v), packet)[1]),
    "VXLAN in MPLS": lambda way, v, packet: (MPLS, _labels(way) + _udp(way, 4789, _vxlan(way, v, packet))[1]),
}
BY_TYPE = frozenset({"MPLS", "PPPoE", "MPLS in PPPoE", "VXLAN in MPLS"})  # these need a link with a type field


# Links. Each function makes a frame from an EtherType and a packet.
def _ethernet(way: Way, kind: int, packet: bytes) -> bytes:
    return MAC[1 - way.side] + MAC[way.side] + struct.pack("!H", kind) + packet


def _cooked(way: Way, kind: int, packet: bytes) -> bytes:
    return struct.pack("!HHH", 4 if way.near else 0, 1, 6) + MAC[way.side] + bytes(2) + struct.pack("!H", kind) + packet


def _cooked2(way: Way, kind: int, packet: bytes) -> bytes:
    head = struct.pack("!HHIHBB", kind, 0, 2 + way.interface, 1, 4 if way.near else 0, 6)
    return head + MAC[way.side] + bytes(2) + packet


def _family(way: Way, kind: int) -> int:
    return 2 if kind == IPV4 else (24, 28, 30)[way.drawn(3)]


def _ppp_number(kind: int) -> int:
    return 0x57 if kind == IPV6 else 0x21


def _erf(way: Way, record: int, body: bytes) -> bytes:
    """Endace's record: time stamp (seconds and a binary fraction), type, flags, length, drops, wire length."""
    stamp = (way.t_ns << 32) // 10**9
    head = struct.pack("<Q", stamp) + struct.pack("!BBHHH", record, 4, 16 + len(body), 0, len(body))
    return head + body


@dataclass(frozen=True)
class Link:
    """A link type: its number, whether it has an EtherType field, the only version of IP that it may carry (0: any)."""

    number: int
    typed: bool
    version: int
    frame: Callable[[Way, int, bytes], bytes]


LINKS: dict[str, Link] = {
    "Ethernet": Link(1, True, 0, _ethernet),
    "raw IP (101)": Link(101, False, 0, lambda way, kind, packet: packet),
    "raw IP (12)": Link(12, False, 0, lambda way, kind, packet: packet),
    "raw IP (14)": Link(14, False, 0, lambda way, kind, packet: packet),
    "IPv4 (228)": Link(228, False, 4, lambda way, kind, packet: packet),
    "IPv6 (229)": Link(229, False, 6, lambda way, kind, packet: packet),
    "cooked (113)": Link(113, True, 0, _cooked),
    "cooked 2 (276)": Link(276, True, 0, _cooked2),
    "BSD loopback (0)": Link(0, False, 0, lambda way, kind, p: struct.pack("<I", _family(way, kind)) + p),
    "BSD loopback (0), big-endian": Link(0, False, 0, lambda way, kind, p: struct.pack(">I", _family(way, kind)) + p),
    "OpenBSD loopback (108)": Link(108, False, 0, lambda way, kind, p: struct.pack("!I", _family(way, kind)) + p),
    "PPP (9)": Link(9, False, 0, lambda way, kind, p: struct.pack("!H", _ppp_number(kind)) + p),
    "PPP (9), framed": Link(9, False, 0, lambda way, kind, p: struct.pack("!HH", 0xFF03, _ppp_number(kind)) + p),
    "PPP, HDLC (50)": Link(50, False, 0, lambda way, kind, p: struct.pack("!HH", 0xFF03, _ppp_number(kind)) + p),
    "PPPoE session (51)": Link(51, False, 0, lambda way, kind, p: _pppoe(_ppp_number(kind), p)[1]),
    "Cisco HDLC (104)": Link(104, False, 0, lambda way, kind, p: struct.pack("!HH", 0x0F00, kind) + p),
    "ERF (197), Ethernet": Link(197, True, 0, lambda way, kind, p: _erf(way, 2, bytes(2) + _ethernet(way, kind, p))),
    "ERF (197), HDLC": Link(
        197, False, 0, lambda way, kind, p: _erf(way, 1, struct.pack("!HH", 0xFF03, _ppp_number(kind)) + p)
    ),
    "ERF (197), IPv4": Link(197, False, 4, lambda way, kind, packet: _erf(way, 22, packet)),
    "ERF (197), IPv6": Link(197, False, 6, lambda way, kind, packet: _erf(way, 23, packet)),
}
TAGS: dict[str, tuple[int, ...]] = {
    "none": (),
    "8100": (0x8100,),
    "88a8": (0x88A8,),
    "9100": (0x9100,),
    "88a8 8100": (0x88A8, 0x8100),
    "8100 8100": (0x8100, 0x8100),
    "9100 8100": (0x9100, 0x8100),
    "9100 88a8 8100": (0x9100, 0x88A8, 0x8100),
    "8100 8100 8100": (0x8100,) * 3,
}


def frame(link: str, tags: str, tunnel: str, way: Way, version: int, packet: bytes) -> bytes:
    """The whole frame. It ends with `packet`."""
    kind, carried = TUNNELS[tunnel](way, version, packet)
    for i, tag in enumerate(reversed(TAGS[tags])):
        carried, kind = struct.pack("!HH", 100 + i, kind) + carried, tag
    return LINKS[link].frame(way, kind, carried)
