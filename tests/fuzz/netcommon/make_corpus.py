"""Writes the seed inputs of the fuzz targets in this folder: real packets, one of each kind, as small as they can be.

The inputs are in tests/corpora.

Run it by hand when a kind is added; the files are committed. Inputs that the fuzzers find are added to the same folders
by hand.
"""

import struct
from pathlib import Path

CORPORA = Path(__file__).resolve().parents[2] / "corpora"
MAC = bytes.fromhex("02000000000b02000000000a")
SRC4, DST4 = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
SRC6, DST6 = bytes.fromhex("fd" + "00" * 14 + "01"), bytes.fromhex("fd" + "00" * 14 + "02")
NEEDS_CSUM, TCPV4, TCPV6, UDP_L4, ECN = 1, 1, 4, 5, 0x80
TCP, UDP, ESP, ICMP = 6, 17, 50, 1


def ethernet(ether_type: int, payload: bytes, tags: tuple[tuple[int, int], ...] = ()) -> bytes:
    """Frame with (type, control information) tags, outermost first."""
    return MAC + b"".join(struct.pack("!HH", *tag) for tag in tags) + struct.pack("!H", ether_type) + payload


def ipv4(proto: int, payload: bytes, options: bytes = b"", fragment: int = 0x4000) -> bytes:
    """IPv4 packet; the header checksum is left 0, because no decoder reads it."""
    words, total = (20 + len(options)) // 4, 20 + len(options) + len(payload)
    return struct.pack("!BBHHHBBH", 0x40 | words, 2, total, 7, fragment, 64, proto, 0) + SRC4 + DST4 + options + payload


def ipv6(next_header: int, payload: bytes) -> bytes:
    """IPv6 packet; `payload` begins with the extension headers, if any."""
    return struct.pack("!IHBB", 0x60200000, len(payload), next_header, 64) + SRC6 + DST6 + payload


def tcp(payload: bytes = b"", flags: int = 0x10, options: bytes = b"") -> bytes:
    """TCP segment."""
    words = (20 + len(options)) // 4
    return struct.pack("!HHIIHHHH", 5001, 5010, 1000, 2000, words << 12 | flags, 512, 0x1234, 0) + options + payload


def udp(payload: bytes = b"") -> bytes:
    """UDP datagram."""
    return struct.pack("!HHHH", 5001, 5010, 8 + len(payload), 0x1234) + payload


def vnet(frame: bytes, gso_type: int, gso_size: int, l4: int, csum_offset: int) -> bytes:
    """Frame after its virtio-net header (little-endian, as on the machines that fuzz)."""
    return struct.pack("<BBHHHHH", NEEDS_CSUM, gso_type, l4, gso_size, l4, csum_offset, 0) + frame


SYN_OPTIONS = bytes.fromhex("020405b4 0402080a0000000100000000 01 03030e")
TIMESTAMPS = bytes.fromhex("0101080a0000000100000002")
SACK = bytes.fromhex("0101050a0000000100000002 0000")[:12]
HOP_BY_HOP = bytes([TCP, 0, 1, 4, 0, 0, 0, 0])
DATA = bytes(range(50))

PACKETS: dict[str, bytes] = {
    "tcp4": ethernet(0x0800, ipv4(TCP, tcp(DATA, 0x18, TIMESTAMPS))),
    "tcp4_syn": ethernet(0x0800, ipv4(TCP, tcp(b"", 0x02, SYN_OPTIONS))),
    "tcp4_sack": ethernet(0x0800, ipv4(TCP, tcp(b"", 0x10, SACK))),
    "tcp4_ip_options": ethernet(0x0800, ipv4(TCP, tcp(DATA), b"\x01" * 8)),
    "tcp4_padded": ethernet(0x0800, ipv4(TCP, tcp(b"hi")) + bytes(4)),
    "tcp6": ethernet(0x86DD, ipv6(TCP, tcp(DATA))),
    "tcp6_extensions": ethernet(
        0x86DD, ipv6(0, bytes([43, 0, 1, 4, 0, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0]) + HOP_BY_HOP + tcp(DATA))
    ),
    "udp6_fragment": ethernet(0x86DD, ipv6(44, bytes([UDP, 0, 0, 1, 0, 0, 0, 7]) + udp(DATA))),
    "tcp6_ah": ethernet(0x86DD, ipv6(51, bytes([TCP, 2]) + bytes(14) + tcp(DATA))),
    "tcp6_segments": ethernet(
        0x86DD, ipv6(43, bytes([TCP, 2, 4, 1, 0, 0, 0, 0]) + bytes([0xFD] + [0] * 14 + [9]) + tcp(DATA))
    ),
    "udp4": ethernet(0x0800, ipv4(UDP, udp(DATA))),
    "udp4_fragment": ethernet(0x0800, ipv4(UDP, udp(DATA), fragment=0x2000)),
    "esp4": ethernet(0x0800, ipv4(ESP, struct.pack("!II", 256, 1) + DATA)),
    "icmp4": ethernet(0x0800, ipv4(ICMP, bytes(8))),
    "arp": ethernet(0x0806, bytes(28)),
    "vlan": ethernet(0x0800, ipv4(TCP, tcp(DATA)), ((0x8100, 100),)),
    "vlan_two": ethernet(0x86DD, ipv6(UDP, udp(DATA)), ((0x88A8, 100), (0x8100, 200))),
}

INNER4, INNER6 = ipv4(TCP, tcp(DATA)), ipv6(TCP, tcp(DATA))
LABEL, LAST_LABEL = bytes([0, 1, 0, 64]), bytes([0, 2, 1, 63])

TUNNELS: dict[str, bytes] = {
    "gre": ethernet(0x0800, ipv4(47, bytes([0xB0, 0, 8, 0]) + bytes(12) + INNER4)),
    "gre_ethernet": ethernet(0x86DD, ipv6(47, bytes([0, 0, 0x65, 0x58]) + ethernet(0x0800, INNER4))),
    "gre_mpls": ethernet(0x0800, ipv4(47, bytes([0, 0, 0x88, 0x47]) + LAST_LABEL + INNER6)),
    "ip_in_ip": ethernet(0x0800, ipv4(4, ipv4(4, INNER4))),
    "ipv6_in_ipv4": ethernet(0x0800, ipv4(41, INNER6)),
    "mpls": ethernet(0x8847, LABEL + LAST_LABEL + INNER4),
    "mpls_in_ip": ethernet(0x0800, ipv4(137, LAST_LABEL + INNER4)),
    "pppoe": ethernet(0x8864, struct.pack("!BBHHH", 0x11, 0, 9, 2 + len(INNER4), 0x21) + INNER4 + bytes(4)),
    "pppoe_mpls": ethernet(0x8864, struct.pack("!BBHHH", 0x11, 0, 9, 6 + len(INNER6), 0x281) + LAST_LABEL + INNER6),
    "vxlan": ethernet(
        0x0800,
        ipv4(
            UDP,
            struct.pack("!HHHH", 5001, 4789, 30 + len(INNER4), 0) + bytes([8] + [0] * 7) + ethernet(0x0800, INNER4),
        ),
    ),
}


def in_udp(port: int, payload: bytes) -> bytes:
    return ethernet(0x0800, ipv4(UDP, struct.pack("!HHHH", 5001, port, 8 + len(payload), 0) + payload))


FRAME4 = ethernet(0x0800, INNER4)
TUNNELS |= {
    "erspan": ethernet(0x0800, ipv4(47, bytes([0, 0, 0x88, 0xBE]) + FRAME4)),
    "erspan2": ethernet(
        0x0800, ipv4(47, bytes([0x10, 0, 0x88, 0xBE]) + bytes([0, 0, 0, 1, 0x10, 1, 0, 1]) + bytes(4) + FRAME4)
    ),
    "geneve": in_udp(6081, bytes([0, 0, 0x65, 0x58, 0, 0, 9, 0]) + FRAME4),
    "geneve_options": in_udp(6081, bytes([2, 0, 0x65, 0x58, 0, 0, 9, 0]) + bytes([1, 1, 1, 1]) + bytes(4) + FRAME4),
    "gtp_u": in_udp(2152, struct.pack("!BBHI", 0x30, 255, len(INNER4), 7) + INNER4),
    "gtp_u_extended": in_udp(
        2152,
        struct.pack("!BBHI", 0x34, 255, 8 + len(INNER4), 7) + bytes([0, 0, 0, 0x85, 1, 0, 9, 0]) + INNER4,
    ),
}

SUPER_PACKETS: dict[str, bytes] = {
    "tso4": vnet(ethernet(0x0800, ipv4(TCP, tcp(DATA, 0x19, TIMESTAMPS))), TCPV4, 16, 34, 16),
    "tso4_cwr": vnet(ethernet(0x0800, ipv4(TCP, tcp(DATA, 0xD8))), TCPV4 | ECN, 16, 34, 16),
    "tso4_ip_options": vnet(ethernet(0x0800, ipv4(TCP, tcp(DATA), b"\x01" * 8)), TCPV4, 7, 42, 16),
    "tso4_one_part": vnet(ethernet(0x0800, ipv4(TCP, tcp(DATA))), TCPV4, 1448, 34, 16),
    "tso6": vnet(ethernet(0x86DD, ipv6(TCP, tcp(DATA))), TCPV6, 16, 54, 16),
    "tso6_extension": vnet(ethernet(0x86DD, ipv6(0, HOP_BY_HOP + tcp(DATA))), TCPV6, 16, 62, 16),
    "tso6_vlan_two": vnet(ethernet(0x86DD, ipv6(TCP, tcp(DATA)), ((0x88A8, 1), (0x8100, 2))), TCPV6, 16, 62, 16),
    "uso4": vnet(ethernet(0x0800, ipv4(UDP, udp(DATA))), UDP_L4, 16, 34, 6),
    "uso6": vnet(ethernet(0x86DD, ipv6(UDP, udp(DATA))), UDP_L4, 16, 54, 6),
    "none": vnet(ethernet(0x0800, ipv4(TCP, tcp(DATA))), 0, 0, 34, 16),
    "arp": vnet(ethernet(0x0806, bytes(28)), 0, 0, 0, 0),
    "ufo": vnet(ethernet(0x0800, ipv4(UDP, udp(DATA))), 3, 16, 34, 6),
}

QUANTITIES: dict[str, tuple[int, str]] = {
    "count": (0, "10K"),
    "duration": (1, "4.2ms"),
    "duration_bare": (1, "0.1"),
    "ratio_bare": (4, "1"),
    "duration_long": (1, "2min"),
    "rate": (2, "45Mbit"),
    "rate_iperf3": (2, "10gbps"),
    "rate_bytes": (2, "10MBps"),
    "rate_case": (2, "10MBPS"),
    "bytes": (3, "110KB"),
    "bytes_binary": (3, "1.5TiB"),
    "ratio": (4, "0.01%"),
    "ratio_ppm": (4, "100ppm"),
    "negative": (1, "-1ms"),
    "digits": (0, "123456789012345678"),
    "too_small": (1, "0.0001ns"),
    "too_large": (3, "17000000TB"),
}


def write(target: str, name: str, data: bytes) -> None:
    """One input file."""
    folder = CORPORA / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


# Link headers in front of IPv4, by the number of the link (enum nc_link).
LINKS = {
    "sll": (2, bytes(14) + b"\x08\x00"),
    "sll_vlan": (2, bytes(14) + b"\x81\x00\x00\x05\x08\x00"),
    "sll2": (3, b"\x08\x00" + bytes(18)),
    "null": (4, b"\x02\x00\x00\x00"),
    "loop": (4, b"\x00\x00\x00\x02"),
    "ppp": (5, b"\xff\x03\x00\x21"),
    "ppp_short": (5, b"\x21"),
    "cisco_hdlc": (5, b"\x0f\x00\x08\x00"),
    "pppoe_session": (6, b"\x11\x00\x00\x01\x00\x40\x00\x21"),
    "erf": (7, bytes(8) + b"\x82\x04" + bytes(6) + b"\x80" + bytes(7) + bytes(8) + bytes(14) + b"\x08\x00"),
    "erf_ipv4": (7, bytes(8) + b"\x16\x04" + bytes(6)),
}


def main() -> None:
    for name, (link, head) in LINKS.items():
        write("nc_packet", f"link_{name}", bytes([link, 0]) + head + PACKETS["tcp4"][14:])
    """Writes all inputs."""
    for name, frame in PACKETS.items():
        write("nc_packet", name, b"\x00\x00" + frame)
        write("nc_packet", f"{name}_cut", b"\x00\x28" + frame[:-40])
    for name in ("tcp4", "tcp6", "udp4"):
        write("nc_packet", f"{name}_raw", b"\x01\x00" + PACKETS[name][14:])
    for name, frame in TUNNELS.items():
        write("nc_tunnel", name, b"\x00\x00" + frame)
        write("nc_tunnel", f"{name}_cut", b"\x00\x28" + frame[:-40])
    for name, super_packet in SUPER_PACKETS.items():
        write("nc_vnet", name, super_packet)
    for name, (unit, text) in QUANTITIES.items():
        write("nc_quantity", name, bytes([unit]) + text.encode())


if __name__ == "__main__":
    main()
