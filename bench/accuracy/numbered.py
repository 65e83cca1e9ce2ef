"""Numbered UDP datagrams, sent as super-packets or one by one. Captures at NICs show which of them arrived.

The first four bytes of a datagram are its number. A super-packet that the box split arrives as several packets. The
length of each of them says how many numbers follow its first.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.arrivals import Packets
from netcommon.errors import LfpError
from netcommon.netns import call_in
from scenarios.network.host_pair import ADDRESSES, NIC, Hosts

UDP_HEADERS = 14 + 20 + 8
SOL_UDP, UDP_SEGMENT, UDP_GRO = 17, 103, 104
PORT = 5202
FILTER = f"udp and dst host {ADDRESSES[1]} and dst port {PORT}"
AT_ONCE = 64  # super-packets on their way to the box: far fewer than the NIC's queue holds


@contextlib.contextmanager
def sockets(pair: Hosts, segment: int = 0) -> Iterator[socket.socket]:
    """A sending socket. Its receiver takes super-packets whole and is never read: dropping packets at a full buffer
    costs the least. ``segment``: payload bytes of each wire packet of a super-packet."""

    def receiver() -> socket.socket:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.setsockopt(SOL_UDP, UDP_GRO, 1)
        sock.bind((ADDRESSES[1], PORT))
        return sock

    def sender() -> socket.socket:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 << 20)
        if segment:
            sock.setsockopt(SOL_UDP, UDP_SEGMENT, segment)
        sock.connect((ADDRESSES[1], PORT))
        return sock

    with contextlib.closing(call_in(pair.receiver, receiver)), contextlib.closing(call_in(pair.sender, sender)) as out:
        yield out


def send_trains(pair: Hosts, trains: int, parts: int, payload: int) -> int:
    """Sends super-packets of ``parts`` datagrams, numbered from 0, as fast as the box takes them. Returns the number of
    datagrams."""
    train = np.zeros((parts, payload), dtype=np.uint8)
    with sockets(pair, payload) as out:
        before = _taken(pair)
        for number in range(trains):
            train[:, :4] = np.arange(number * parts, (number + 1) * parts, dtype=">u4").view(np.uint8).reshape(-1, 4)
            out.send(train.data)
            if number % AT_ONCE == 0:
                _wait_taken(pair, before + (number - AT_ONCE) * parts * payload)
        _wait_taken(pair, before + trains * parts * payload)
    return trains * parts


def send_steady(pair: Hosts, rate: int, seconds: float, payload: int) -> None:
    """Sends single datagrams, numbered from 0, at this rate. The datagrams of about 60 us (the length of a sleep) are
    sent together. Rejected: iperf3, which sends no faster, and whose receiver would use a processor that the box and
    the captures need."""
    with sockets(pair) as out:
        rest, sent, at_once = bytes(payload - 4), 0, rate // 500 + 1
        begun = last = time.monotonic()
        while (now := time.monotonic()) < begun + seconds:
            due = min(
                int((now - last) * rate), at_once
            )  # datagrams missed by a late wake-up are not sent later: a burst would be another load
            for number in range(sent, sent + due):
                out.send(number.to_bytes(4, "big") + rest)
            sent += due
            last = now if due == at_once else last + due / rate
            time.sleep(5e-5)


def send_spaced(pair: Hosts, count: int, spacing_s: float, payload: int) -> None:
    """Sends single datagrams, numbered from 0, each ``spacing_s`` or a little more after the one before."""
    with sockets(pair) as out:
        due = time.monotonic()
        for number in range(count):
            due = max(due + spacing_s, time.monotonic())  # none is sent sooner to catch up
            time.sleep(max(0.0, due - time.monotonic()))
            out.send(number.to_bytes(4, "big") + bytes(payload - 4))


def numbers(packets: Packets, payload: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every captured wire packet, in order: its number, and its row in the capture."""
    count = (packets.length - UDP_HEADERS) // payload
    row = np.repeat(np.arange(count.size), count)
    within = np.arange(row.size) - np.repeat(np.cumsum(count) - count, count)
    return packets.number_at(UDP_HEADERS)[row] + within, row


def lost(packets: Packets, payload: int, sent: int) -> NDArray[np.bool_]:
    """For every number from 0: whether the packet was lost."""
    out = np.ones(sent, dtype=bool)
    out[numbers(packets, payload)[0]] = False
    return out


def wait_quiet(pair: Hosts, quiet_s: float = 0.5) -> None:
    """Waits until the receiver's NIC has received nothing for a while. How much will arrive is not known: it is what
    the bench measures."""
    last, since = _received(pair), time.monotonic()
    while time.monotonic() < since + quiet_s:
        time.sleep(0.02)
        if (now := _received(pair)) != last:
            last, since = now, time.monotonic()


def _wait_taken(pair: Hosts, octets: int, timeout_s: float = 10.0) -> None:
    deadline = time.monotonic() + timeout_s
    while _taken(pair) < octets:
        if time.monotonic() > deadline:
            raise LfpError("delay.accuracy: the box does not take packets in; is something else using the machine?")
        time.sleep(0.0002)


def _columns(pid: int) -> list[int]:
    for line in Path(f"/proc/{pid}/net/dev").read_text(encoding="ascii").splitlines():
        name, _, columns = line.partition(":")
        if name.strip() == NIC:
            return [int(value) for value in columns.split()]
    raise LfpError(f"{NIC}: not in the namespace of process {pid}")


def _taken(pair: Hosts) -> int:
    """Bytes that the box has read from the sender's NIC. LfpError when the TAP dropped packets."""
    columns = _columns(pair.sender)
    if columns[11]:
        raise LfpError(f"delay.accuracy: the sender's NIC dropped {columns[11]} packets in front of the box")
    return columns[8]


def _received(pair: Hosts) -> int:
    return _columns(pair.receiver)[0]
