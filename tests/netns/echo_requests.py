"""ICMP echo requests whose round-trip times are in CLOCK_MONOTONIC, the clock of the delay box, to the nanosecond.

The clock is read before the request is given to the kernel and after the answer has come, so a measured round trip is
never shorter than the real one. ping reads CLOCK_REALTIME in microseconds, which may be set meanwhile, and prints
8.39 ms for anything up to 10 us longer.
"""

from __future__ import annotations

import socket
import struct
import time

from netcommon.netns import call_in

REQUEST, REPLY = 8, 0
ANSWER_S = 10.0  # how long an answer may take
_IDENTIFIER = 0x1F9


def round_trips_ms(netns: str, target: str, count: int, interval_s: float) -> list[float]:
    """Round-trip times of ``count`` echoes, each sent ``interval_s`` after the answer to the one before. OSError
    without an answer."""
    with call_in(netns, socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as sock:
        sock.settimeout(ANSWER_S)
        sock.connect((target, 0))
        found = []
        for number in range(count):
            found.append(_round_trip_ns(sock, number) / 1e6)
            time.sleep(interval_s)
        return found


def _round_trip_ns(sock: socket.socket, number: int) -> int:
    request = struct.pack("!BBHHH", REQUEST, 0, 0, _IDENTIFIER, number)
    request = struct.pack("!BBHHH", REQUEST, 0, _checksum(request), _IDENTIFIER, number)
    sent_ns = time.monotonic_ns()
    sock.send(request)
    while True:
        packet = sock.recv(2048)
        came_ns = time.monotonic_ns()
        kind, _, _, identifier, came = struct.unpack_from("!BBHHH", packet, (packet[0] & 15) * 4)
        if (kind, identifier, came) == (REPLY, _IDENTIFIER, number):
            return came_ns - sent_ns


def _checksum(octets: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF
