"""`pktlogger frames`: every frame of any kind, its bytes as they are on the wire."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
from pathlib import Path

import pytest
from support.pktlogger_frames import T0_NS, A, B, Packet, Pcapng

import pktlogger
from netcommon.binaries import find

ETHERNET = bytes(12)
ARP = (ETHERNET + b"\x08\x06" + bytes(28), 42)


def udp(src: str, dst: str, payload: int, protocol: int = 17) -> tuple[bytes, int]:
    """A captured datagram without its payload; with another protocol, 8 octets replace the UDP header."""
    body = struct.pack("!HHHH", 2004, 2004, 8 + payload, 0)
    v6 = ":" in src
    family = socket.AF_INET6 if v6 else socket.AF_INET
    ends = socket.inet_pton(family, src) + socket.inet_pton(family, dst)
    if v6:
        ip = struct.pack("!IHBB", 6 << 28, 8 + payload, protocol, 64) + ends
    else:
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 28 + payload, 1, 0x4000, 64, protocol, 0) + ends
    head = ETHERNET + (b"\x86\xdd" if v6 else b"\x08\x00") + ip + body
    return head, len(head) + payload


def frames(folder: Path, file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    argv: list[str | Path] = [find("pktlogger"), "frames", file, "-o", folder / "out", *options]
    return subprocess.run(argv, capture_output=True, text=True, timeout=30)


def test_every_frame_is_a_row_with_its_bytes_on_the_wire(tmp_path: Path) -> None:
    """Super-packets of 3 full datagrams and a rest, of UDP and of TCP; ESP is one packet however long."""
    capture = Pcapng()
    capture.interface()
    full = 1500 - 28
    shown = [
        udp(A, B, 100),
        udp(B, A, 3 * full + 10),
        ARP,
        udp("fd00::1", "fd00::2", 1500 - 48 + 1),
        udp(A, B, 4000, 50),
        Packet(0, (A, 1), (B, 2), 1, length=2 * 1460).frame(),
    ]
    for number, frame in enumerate(shown):
        capture.packet(frame, T0_NS + number)
    done = frames(tmp_path, capture.write(tmp_path / "c.pcapng"), "--mtu", "1500")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) | {"v": 0} == {"v": 0, "event": "end", "frames": 6, "sources": 3}
    table, kinds = pktlogger.read_table(tmp_path / "out"), ["udp", "udp", "not_ip", "udp", "esp", "tcp"]
    described = json.loads((tmp_path / "out" / "frames.json").read_text())
    assert [described["kinds"][kind] for kind in table["kind"].to_pylist()] == kinds
    assert pktlogger.frame_sources(tmp_path / "out") == [A, B, "fd00::1"]
    assert table["source"].to_pylist() == [0, 1, 255, 2, 0, 0]
    assert table["t_ns"].to_pylist() == [T0_NS + number for number in range(6)]
    assert table["parts"].to_pylist() == [1, 4, 1, 2, 1, 2]
    wire = [wire for _, wire in shown]
    assert table["bytes"].to_pylist() == [wire[0], wire[1] + 3 * 42, 42, wire[3] + 62, wire[4], wire[5] + 54]
    plain = tmp_path / "plain"
    plain.mkdir()
    assert frames(plain, tmp_path / "c.pcapng").returncode == 0
    assert pktlogger.read_table(plain / "out")["bytes"].to_pylist() == wire, "without an MTU frames are as captured"


@pytest.mark.parametrize(
    ("content", "options", "status", "said"),
    [
        (b"nonsense" * 9, (), 2, "not a capture file"),
        (b"", ("--mtu", "100"), 2, "--mtu '100'"),
    ],
)
def test_mistakes_are_one_line(
    tmp_path: Path, content: bytes, options: tuple[str, ...], status: int, said: str
) -> None:
    (tmp_path / "c").write_bytes(content)
    done = frames(tmp_path, tmp_path / "c", *options)
    assert done.returncode == status and done.stderr.count("\n") == 1 and said in done.stderr, done.stderr
    assert not (tmp_path / "out").exists()
