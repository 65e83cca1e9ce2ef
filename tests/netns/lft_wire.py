"""For tests of attacks: recording and sending on the link, a flood, a connection that must stay whole, and a gateway's
counters."""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lft_lab import LEFT, RIGHT, SERVER, Lab, inside, test_program
from raw_frames import ETH_P_ALL, checksum

from netcommon.netns import call_in

PORT, TUNNEL = 8000, 2004
HANDSHAKE = bytes(4)  # FORMAT.md: a datagram whose first 32 bits are zero


class Wire:
    """The near gateway's link to the network: records what the gateway sends, and sends forged datagrams."""

    def __init__(self, lab: Lab) -> None:
        self._ear = call_in(lab.near, self._listen)
        self._mouth = call_in(lab.near, socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)

    @staticmethod
    def _listen() -> socket.socket:
        ear = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        ear.bind(("wan", ETH_P_ALL))
        return ear

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self._ear.close()
        self._mouth.close()

    def recorded(self) -> list[bytes]:
        """Payloads of the tunnel's datagrams since the last call, without offload's super-packets."""
        found = []
        while select.select([self._ear], [], [], 0)[0]:
            packet, origin = self._ear.recvfrom(65536)
            outgoing = origin[2] == 4  # PACKET_OUTGOING
            if outgoing and packet[9:10] == b"\x11" and packet[12:16] == socket.inet_aton(LEFT) and len(packet) <= 1500:
                found.append(packet[28:])
        return found

    def packet(self, payload: bytes, source: str = LEFT) -> bytes:
        """An IPv4 packet from the near gateway's port, or from anybody's."""
        addresses = socket.inet_aton(source) + socket.inet_aton(RIGHT)
        udp = struct.pack(">HHHH", TUNNEL, TUNNEL, 8 + len(payload), 0)  # checksum 0: none
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(payload), 0, 0, 64, 17, 0) + addresses
        return ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:] + udp + payload

    def send(self, packets: list[bytes]) -> None:
        for packet in packets:
            self._mouth.sendto(packet, (RIGHT, 0))


@contextmanager
def session(lab: Lab) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A connection through the tunnel that must be whole at the end."""
    with lab.listen(4, PORT) as listener, lab.connect(SERVER[4], PORT) as client:
        server, _ = listener.accept()
        with server:
            for end in (client, server):
                end.settimeout(60)
            yield client, server
            exchange(client, server, 3)


def received(end: socket.socket, count: int) -> bytes:
    """So many octets."""
    got = bytearray()
    while len(got) < count and (part := end.recv(count - len(got))):
        got += part
    return bytes(got)


def exchange(client: socket.socket, server: socket.socket, times: int) -> None:
    """Sends octets there and back; they must arrive as sent."""
    for _ in range(times):
        data = os.urandom(700)
        client.sendall(data)
        assert received(server, len(data)) == data
        server.sendall(data)
        assert received(client, len(data)) == data


def counters(lab: Lab, which: str = "far") -> dict[str, int]:
    """A gateway's counters of refused and of delivered data."""
    state = lab.show(which)
    names = ("rx_replayed", "rx_delivered", "rx_duplicates", "rx_malformed", "rx_unknown_command", "rx_bad_ack")
    engine, tunnel = state["engine"] or dict.fromkeys(names, 0), state["tunnel"]  # no association: no engine
    found = {name: engine[name] for name in names}
    found |= {name: tunnel[name] for name in ("rx_truncated", "rx_unknown_spi", "rx_bad_tag", "associations", "rekeys")}
    return found | {f"handshake_{name}": count for name, count in tunnel["handshake"].items()}


class Flood:
    """Datagrams with made-up sources at a set rate, from a host next to a gateway: ``with Flood(…) as flood: …``."""

    def __init__(
        self, netns: int, destination: str, templates: list[tuple[str, bytes]], a_second: int, count: int
    ) -> None:
        """``templates``, sent in turn: source address (* for a new one each time) and payload."""
        # an attacker has a machine of his own, so this machine's limits must not apply to him
        argv = ["nice", "-n", "-15", *inside(netns, str(test_program("lft-flood")))]
        argv += [destination, str(TUNNEL), str(a_second), str(count)]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin
        self._process.stdin.writelines(f"{source} {TUNNEL} {payload.hex()}\n" for source, payload in templates)
        self._process.stdin.close()

    def __enter__(self) -> Flood:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(10)
        assert self._process.stdout
        self._process.stdout.close()

    def running(self) -> bool:
        return self._process.poll() is None

    def a_second(self) -> float:
        """The datagrams that the flood has sent a second; waits for its end."""
        assert self._process.stdout
        assert self._process.wait(30) == 0, "lft-flood failed"
        end: dict[str, Any] = json.loads(self._process.stdout.read())
        return float(end["sent"] / end["elapsed_ns"] * 1e9)
