"""Numbered UDP datagrams in trains: each train one super-packet (UDP segmentation offload), so a box sees what TCP's
bulk sends look like, and the receiver knows exactly which wire packets came and when."""

from __future__ import annotations

import select
import socket
import struct
import time

import numpy as np

from netcommon.netns import call_in

SOL_UDP, UDP_SEGMENT, SO_TIMESTAMPNS, SO_RCVBUFFORCE = 17, 103, 35, 33
DATAGRAM = 1400
TRAIN = 44
_DEADLINE_S = 20


class Trains:
    """A sender in one namespace and a receiver in another, both in this process."""

    def __init__(self, sender_netns: str, receiver_netns: str, receiver_address: str, datagram: int = DATAGRAM) -> None:
        self._datagram = datagram
        self._receiver = call_in(receiver_netns, self._open_receiver, receiver_address)
        self._sender = call_in(sender_netns, self._open_sender)
        self._sender.connect(self._receiver.getsockname())
        self._body = bytes(datagram - 4)
        self._next = 0

    @staticmethod
    def _open_receiver(address: str) -> socket.socket:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        sock.bind((address, 0))
        sock.setblocking(False)
        return sock

    def _open_sender(self) -> socket.socket:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 << 20)
        sock.setsockopt(SOL_UDP, UDP_SEGMENT, self._datagram)
        return sock

    def close(self) -> None:
        """Closes both sockets."""
        self._receiver.close()
        self._sender.close()

    def send(self, trains: int) -> None:
        """Sends ``trains`` super-packets of TRAIN datagrams. The first four bytes of a datagram are its number."""
        for _ in range(trains):
            self._sender.send(b"".join(struct.pack("<I", self._next + i) + self._body for i in range(TRAIN)))
            self._next += TRAIN

    def receive(self, quiet_s: float, expected: int = 0) -> tuple[list[int], list[int]]:
        """Numbers and kernel arrival times (CLOCK_REALTIME ns) of datagrams that arrive until none has for ``quiet_s``.
        With ``expected``, until that many have arrived or none has for 20 s."""
        numbers: list[int] = []
        times_ns: list[int] = []
        deadline = time.monotonic() + 3 * _DEADLINE_S
        while time.monotonic() < deadline:
            wait_s = _DEADLINE_S if len(numbers) < expected else quiet_s
            if not select.select([self._receiver], [], [], wait_s)[0]:
                break
            try:
                while True:
                    data, ancillary, _, _ = self._receiver.recvmsg(2048, 64)
                    seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
                    numbers.append(int.from_bytes(data[:4], "little"))
                    times_ns.append(seconds * 10**9 + nanoseconds)
            except BlockingIOError:
                pass
        return numbers, times_ns

    def arrived(self, packets: int, quiet_s: float, trains_at_once: int = 64) -> np.ndarray:
        """Sends at least ``packets`` datagrams; a boolean a datagram: did it arrive?"""
        trains = -(-packets // TRAIN)
        numbers: list[int] = []
        for done in range(0, trains, trains_at_once):
            self.send(min(trains_at_once, trains - done))
            numbers += self.receive(quiet_s)[0]
        numbers += self.receive(0.5)[0]  # packets that a machine delivers late because it was stopped for a while
        arrived = np.zeros(trains * TRAIN, dtype=bool)
        arrived[np.array(numbers, dtype=np.int64)] = True
        return arrived
