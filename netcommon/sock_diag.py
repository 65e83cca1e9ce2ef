"""TCP connections of any program, as the kernel reports them (sock_diag(7)): connections that exist now, and
connections that have just ended. A diag socket reports on the network namespace in which it was created. One that is
`listening` also reports connections that end later: the kernel sends each connection's last TCP_INFO. Rejected: `ss`,
which needs a process for every poll. Rejected: polling alone, which misses short connections and the last interval of
the others.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

_SOCK_DIAG, _BY_FAMILY, _REQUEST_DUMP, _DONE, _ERROR = 4, 20, 0x301, 3, 2
_ENDED_V4, _ENDED_V6 = 1 << 0, 1 << 2  # multicast groups that report when TCP sockets end
_INFO, _CONGESTION = 2, 4  # attributes of an answer; bit n - 1 of a request asks for attribute n
_HEADER, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=HH")
_STATE_AT, _ID_AT, _MESSAGE_BYTES = 1, 4, 72  # offsets in struct inet_diag_msg; its length
ESTABLISHED, FIN_WAIT_1 = 1 << 1, 1 << 4
_TIME_WAIT, _LISTEN = 1 << 6, 1 << 10
CONNECTIONS = 0xFFF & ~(_TIME_WAIT | _LISTEN | 1 << 12)  # every state in which a socket has a connection's TCP_INFO
# struct tcp_info of <linux/tcp.h>: name as in rttcp's results, offset, format.
_FIELDS = (
    ("options", 5, "=B"), ("snd_mss", 16, "=I"), ("pmtu", 60, "=I"), ("rtt_us", 68, "=I"), ("snd_cwnd", 80, "=I"),
    ("advmss", 84, "=I"), ("total_retrans", 100, "=I"), ("max_pacing_rate_bytes_per_s", 112, "=Q"),
    ("bytes_acked", 120, "=Q"), ("bytes_received", 128, "=Q"), ("delivered_ce", 196, "=I"), ("bytes_sent", 200, "=Q"),
    ("bytes_retrans", 208, "=Q"), ("total_rto", 240, "=H"),
)  # fmt: skip
_ECN_AT, _PACKED_SINCE = 276, 7  # AccECN's bit fields, and the kernel version that introduced them
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Connection:
    """``info``: the fields of TCP_INFO that this kernel has; ``congestion``: None for a connection that has ended."""

    local: tuple[str, int]
    remote: tuple[str, int]
    info: dict[str, int]
    congestion: str | None = None

    @property
    def moved_bytes(self) -> int:
        """What was acknowledged and received."""
        return self.info.get("bytes_acked", 0) + self.info.get("bytes_received", 0)


def asking(*, listening: bool = False) -> socket.socket:
    """A socket that asks about the connections of this namespace; with ``listening`` it is also notified when they
    end."""
    made = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG)
    made.settimeout(1.0)
    if listening:
        made.bind((0, _ENDED_V4 | _ENDED_V6))
    return made


def connections(asked: socket.socket, family: int, states: int = CONNECTIONS) -> list[Connection]:
    """The TCP connections of the socket's namespace in these states. OSError when the kernel does not answer."""
    wanted = 1 << (_INFO - 1) | 1 << (_CONGESTION - 1)
    body = struct.pack("=BBBBI48x", family, socket.IPPROTO_TCP, wanted, 0, states)
    asked.send(_HEADER.pack(_HEADER.size + len(body), _BY_FAMILY, _REQUEST_DUMP, 1, 0) + body)
    connections_seen: list[Connection] = []
    while True:
        for kind, message in _messages(asked.recv(1 << 18)):
            if kind in (_DONE, _ERROR):
                return connections_seen
            connections_seen += _connection(message)


def ended(asked: socket.socket, wait_s: float = 0.0) -> list[Connection]:
    """The connections that have ended since the socket was made `listening`. ``wait_s``: how long it waits for the
    first of them."""
    found: list[Connection] = []
    asked.settimeout(wait_s)
    with contextlib.suppress(OSError):  # nothing more has come
        while True:
            for _, message in _messages(asked.recv(1 << 18)):
                found += _connection(message)
            asked.settimeout(0.0)
    return found


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + _HEADER.size <= len(data):
        length, kind = _HEADER.unpack_from(data, at)[:2]
        if length < _HEADER.size:
            return
        yield kind, data[at + _HEADER.size : at + length]
        at += length + -length % 4


def _connection(message: bytes) -> list[Connection]:
    """The connection in a message; None if the kernel gives no TCP_INFO."""
    attributes: dict[int, bytes] = {}
    at = _MESSAGE_BYTES
    while at + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, at)
        attributes[kind] = message[at + _ATTRIBUTE.size : at + length]
        at += max(length + -length % 4, _ATTRIBUTE.size)
    if _INFO not in attributes:
        return []
    name = attributes[_CONGESTION].rstrip(b"\0").decode("ascii", "replace") if _CONGESTION in attributes else None
    local, remote = _ends(message)
    return [Connection(local, remote, _info(attributes[_INFO]), name)]


def _ends(message: bytes) -> tuple[tuple[str, int], tuple[str, int]]:
    family = message[0]
    size = 4 if family == socket.AF_INET else 16
    hosts = [socket.inet_ntop(family, message[start : start + size]) for start in (_ID_AT + 4, _ID_AT + 20)]
    near, far = struct.unpack_from("!HH", message, _ID_AT)
    return (hosts[0], near), (hosts[1], far)


def _info(raw: bytes) -> dict[str, int]:
    """The values of struct tcp_info; a kernel fills the fields that it knows."""
    info = {
        name: min(struct.unpack_from(form, raw, offset)[0], _LARGEST)
        for name, offset, form in _FIELDS
        if offset + struct.calcsize(form) <= len(raw)
    }
    if len(raw) > _ECN_AT and int(os.uname().release.partition(".")[0]) >= _PACKED_SINCE:
        info["ecn_mode"] = raw[_ECN_AT] & 3
    return info
