"""What somebody on the path, without the key, can do to a running tunnel: nothing; and each attempt is counted.

Datagrams are recorded at the near gateway and sent again by a raw socket there, so that they arrive with its address.
"""

from __future__ import annotations

import itertools
import os
import random
import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from comet_box import LEFT, RIGHT, in_netns
from lft_lab import SERVER, Lab, lft_lab, until
from raw_frames import ETH_P_ALL, checksum

from netcommon.binaries import find
from netcommon.netns import call_in
from netcommon.process import Tool

pytestmark = [pytest.mark.netns, pytest.mark.timeout(90)]

ROUTER = ("--router", "--lan", "lan0")
PORT, TUNNEL = 8000, 2004
FLOOD_S = 2.0
HANDSHAKE = bytes(4)  # FORMAT.md: a datagram whose first 32 bits are zero


class Wire:
    """The near gateway's link to the network: what it sends, and a way to send what it did not."""

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
        """Payloads of the tunnel's datagrams since the last call; super-packets of offload are left out."""
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
                end.settimeout(15)
            yield client, server
            exchange(client, server, 3)


def received(end: socket.socket, count: int) -> bytes:
    """So many octets."""
    got = bytearray()
    while len(got) < count and (part := end.recv(count - len(got))):
        got += part
    return bytes(got)


def exchange(client: socket.socket, server: socket.socket, times: int) -> None:
    """Octets there and back, as they were sent."""
    for _ in range(times):
        data = os.urandom(700)
        client.sendall(data)
        assert received(server, len(data)) == data
        server.sendall(data)
        assert received(client, len(data)) == data


def counters(lab: Lab) -> dict[str, int]:
    """What the far gateway counts of what it does not take, and of what it delivers."""
    state = lab.show("far")
    engine, tunnel = state["engine"], state["tunnel"]
    names = ("rx_replayed", "rx_delivered", "rx_duplicates", "rx_malformed", "rx_unknown_command", "rx_bad_ack")
    found = {name: engine[name] for name in names}
    found |= {name: tunnel[name] for name in ("rx_truncated", "rx_unknown_spi", "rx_bad_tag", "associations", "rekeys")}
    return found | {f"handshake_{name}": count for name, count in tunnel["handshake"].items()}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lft_lab(delay="2ms") as made, made.gateways(*ROUTER):
        yield made


def grown(lab: Lab, before: dict[str, int], name: str, by: int) -> None:
    """That counter has grown by as much within a second; and nothing of what was sent was believed."""
    until(lambda: counters(lab)[name] >= before[name] + by, 5, f"{name} counted {by} times: {counters(lab)}")
    now = counters(lab)
    for other in ("associations", "rekeys", "rx_malformed", "rx_unknown_command", "rx_bad_ack"):
        assert now[other] == before[other], other


def frames(wire: Wire, client: socket.socket, server: socket.socket) -> list[bytes]:
    """A hundred frames or so of the running tunnel."""
    wire.recorded()
    exchange(client, server, 50)
    found = [payload for payload in wire.recorded() if not payload.startswith(HANDSHAKE)]
    assert len(found) >= 50
    return found


def test_replayed_frames_are_counted_and_dropped(lab: Lab) -> None:
    with Wire(lab) as wire, session(lab) as (client, server):
        recorded = frames(wire, client, server)
        before = counters(lab)
        wire.send([wire.packet(frame) for frame in recorded * 3])
        grown(lab, before, "rx_replayed", 3 * len(recorded))


def test_changed_frames_are_counted_and_dropped(lab: Lab) -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    print("seed", seed)

    def flipped(frame: bytes) -> bytes:
        at = rng.randrange(4, len(frame))  # another SPI is another test
        return frame[:at] + bytes([frame[at] ^ 1 << rng.randrange(8)]) + frame[at + 1 :]

    with Wire(lab) as wire, session(lab) as (client, server):
        recorded = frames(wire, client, server)
        longer = (lambda frame: frame + b"\0", lambda frame: frame + bytes(1300 - len(frame)))
        for change in (flipped, lambda frame: frame[:-1], *longer):
            before = counters(lab)
            changed = [change(frame) for frame in recorded if len(frame) < 1300]
            wire.send([wire.packet(frame) for frame in changed])
            wanted = rejected(before) + len(changed)
            until(lambda wanted=wanted: rejected(counters(lab)) >= wanted, 5, f"counted: {counters(lab)}")
            grown(lab, before, "rx_bad_tag", 1 if change is flipped else 0)


def rejected(found: dict[str, int]) -> int:
    """A changed number may be one that was seen: then it is a replay before it is anything else."""
    return found["rx_bad_tag"] + found["rx_replayed"] + found["rx_truncated"]


def test_short_frames_and_strangers_spis(lab: Lab) -> None:
    with Wire(lab) as wire, session(lab) as (client, server):
        recorded = frames(wire, client, server)
        before = counters(lab)
        wire.send([wire.packet(frame[:12]) for frame in recorded])
        grown(lab, before, "rx_truncated", len(recorded))
        before = counters(lab)
        wire.send([wire.packet(b"\xde\xad\xbe\xef" + frame[4:]) for frame in recorded])
        grown(lab, before, "rx_unknown_spi", len(recorded))


def test_frames_of_an_old_association(lab: Lab) -> None:
    with Wire(lab) as wire, session(lab) as (client, server):
        recorded = frames(wire, client, server)
    lab.stop("near")
    lab.start("near", *ROUTER)
    lab.wait_accelerating()
    with Wire(lab) as wire, session(lab) as (client, server):
        before = counters(lab)
        wire.send([wire.packet(frame) for frame in recorded])
        grown(lab, before, "rx_unknown_spi", len(recorded))


def test_a_peer_with_another_key(lab: Lab) -> None:
    stranger = lab.folder / "psk"
    right = stranger.read_text()
    with session(lab):
        before = counters(lab)
        stranger.write_text("not the key that the other has\n")
        try:
            start_stranger(lab)
            grown(lab, before, "handshake_bad_mac", 1)
        finally:
            stranger.write_text(right)
            lab.stop("stranger")


def start_stranger(lab: Lab) -> None:
    """A third gateway beside the near one."""
    argv = [str(find("lft-gateway")), "run", "--psk-file", str(lab.folder / "psk"), "--listen", f"{LEFT}:2005"]
    tool = Tool(["ip", "netns", "exec", lab.near, *argv, "--peer", f"{RIGHT}:{TUNNEL}", "--drain", "0s"])
    lab.running["stranger"] = tool.__enter__()


def test_a_flood_of_spoofed_handshakes(lab: Lab) -> None:
    """As fast as one sender can: true messages from made-up addresses, and forged ones; sessions go on meanwhile."""
    in_netns(lab.far, "ip", "route", "add", "blackhole", "10.99.0.0/16")
    with Wire(lab) as wire:
        lab.stop("near")
        wire.recorded()
        lab.start("near", *ROUTER)
        lab.wait_accelerating()
        inits = [payload for payload in wire.recorded() if payload.startswith(HANDSHAKE)]
        assert inits
        forged = [payload[:-1] + bytes([payload[-1] ^ 1]) for payload in inits]
        packets = [
            wire.packet(payload, f"10.99.{i >> 8 & 255}.{i & 255}")
            for i, payload in zip(range(4096), itertools.cycle(inits + forged), strict=False)
        ]
        with session(lab) as (client, server):
            before = counters(lab)
            sent = [0]
            flood = threading.Thread(target=_flood, args=(wire, packets, sent))
            flood.start()
            began = time.monotonic()
            while flood.is_alive():
                exchange(client, server, 1)
            flood.join()
            print(f"{sent[0] / (time.monotonic() - began):.0f} handshakes a second")
        now = counters(lab)
        for name in ("bad_mac", "cookies", "cookies_limited"):
            assert now[f"handshake_{name}"] > before[f"handshake_{name}"], name
        assert now["handshake_completed"] == before["handshake_completed"]
        assert now["associations"] == before["associations"]
        assert not lab.show()["bypassed"]


def _flood(wire: Wire, packets: list[bytes], sent: list[int]) -> None:
    deadline = time.monotonic() + FLOOD_S
    while time.monotonic() < deadline:
        wire.send(packets)
        sent[0] += len(packets)


def test_reordered_and_duplicated_frames_are_put_right() -> None:
    with lft_lab(delay="2ms", reorder="10%", duplicate="5%") as lab, lab.gateways(*ROUTER):
        with session(lab) as (client, server):
            data = os.urandom(3_000_000)
            sender = threading.Thread(target=client.sendall, args=(data,))
            sender.start()
            assert received(server, len(data)) == data
            sender.join()
        assert counters(lab)["rx_replayed"] > 0, "duplicates of the path are replays"
