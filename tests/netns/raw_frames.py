"""Whole Ethernet frames by packet sockets (packet(7)): sent and received byte for byte, VLAN tags in their place."""

from __future__ import annotations

import select
import socket
import struct
import time
from types import TracebackType

from netcommon.netns import call_in

SOL_PACKET, PACKET_AUXDATA, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 263, 8, 15, 23
ETH_P_ALL = 3
VLAN_VALID = 1 << 4
AUXDATA = struct.Struct("=IIIHHHH")  # struct tpacket_auxdata
VNET_HEADER = struct.Struct("=BBHHHH")  # struct virtio_net_hdr
NEEDS_CSUM, GSO_UDP_L4 = 1, 5


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071); 0 over data that contains its own."""
    total: int = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def udp_super_packet(header: bytes, source: str, destination: str, payload: bytes, size: int) -> bytes:
    """A virtio-net header and one IPv4 UDP super-packet of datagrams of ``size`` bytes behind the link header given."""
    length = 8 + len(payload)
    addresses = socket.inet_aton(source) + socket.inet_aton(destination)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + length, 7, 0, 64, 17, 0) + addresses
    ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
    seed = ~checksum(addresses + struct.pack(">HH", 17, length)) & 0xFFFF
    udp = struct.pack(">HHHH", 7777, 8888, length, seed)
    start = len(header) + len(ip)
    vnet = VNET_HEADER.pack(NEEDS_CSUM, GSO_UDP_L4, start + len(udp), size, start, 6)
    return vnet + header + ip + udp + payload


class RawSocket:
    """A packet socket on one interface of a namespace. With ``super_packets`` the frames that it sends begin with a
    virtio-net header."""

    def __init__(self, netns: str, interface: str, super_packets: bool = False) -> None:
        self._sock = call_in(netns, self._open, interface, super_packets)

    @staticmethod
    def _open(interface: str, super_packets: bool) -> socket.socket:
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        sock.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        if super_packets:
            sock.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        sock.bind((interface, ETH_P_ALL))
        sock.setblocking(False)
        return sock

    def __enter__(self) -> RawSocket:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._sock.close()

    def send(self, frame: bytes) -> None:
        """Sends it as it is."""
        assert self._sock.send(frame) == len(frame)

    def _receive(self) -> bytes:
        frame, ancillary, _, _ = self._sock.recvmsg(65536, 128)
        status, _, _, _, _, tag, protocol = AUXDATA.unpack(ancillary[0][2])
        return frame[:12] + struct.pack(">HH", protocol, tag) + frame[12:] if status & VLAN_VALID else frame

    def collect(self, count: int, beginning: bytes, wait_s: float = 20) -> list[bytes]:
        """Received frames that begin with these octets, until there are ``count`` or ``wait_s`` has passed."""
        frames: list[bytes] = []
        deadline = time.monotonic() + wait_s
        while len(frames) < count:
            if not select.select([self._sock], [], [], max(0, deadline - time.monotonic()))[0]:
                break
            frame = self._receive()
            if frame.startswith(beginning):
                frames.append(frame)
        return frames
