"""Our dissectors in tshark: LFT frames (lft_ref/lft.lua) and the comments of a record (pktlogger/record.lua)."""

from __future__ import annotations

import random
import shutil
import socket
import struct
import subprocess
from pathlib import Path

import pytest
from support.lft_vectors import vector
from support.pktlogger_frames import T0_NS, A, B, Packet, Pcapng

ROOT = Path(__file__).resolve().parents[3]
LFT, RECORD = ROOT / "lft_ref/lft.lua", ROOT / "pktlogger/record.lua"
DATA, RETRANSMISSION, ACK = 1, 2, 4
MS = 1_000_000

pytestmark = pytest.mark.skipif(not shutil.which("tshark"), reason="not installed: tshark")


def frame(command: int, number: int, counter: int, payload: int = 60, spi: int = 0x01020304) -> bytes:
    """An LFT frame whose encrypted part is noise (FORMAT.md, "Frame")."""
    padded = payload + 2 + -(payload + 2) % 4
    return struct.pack("!IIQ", spi, command << 24 | number, counter) + random.Random(counter).randbytes(padded + 16)


def datagram(payload: bytes, port: int = 2004, protocol: int = 17) -> tuple[bytes, int]:
    """An Ethernet frame with the payload in UDP, or right in IP."""
    if protocol == 17:
        payload = struct.pack("!HHHH", port, port, 8 + len(payload), 0) + payload
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0x4000, 64, protocol, 0)
    data = bytes(12) + b"\x08\x00" + head + socket.inet_aton(A) + socket.inet_aton(B) + payload
    return data, len(data)


def capture(path: Path, frames: list[tuple[bytes, int]]) -> Path:
    """The frames, a millisecond apart."""
    file = Pcapng()
    file.interface()
    for i, one in enumerate(frames):
        file.packet(one, T0_NS + i * MS)
    return file.write(path)


def tshark(script: Path, file: Path, fields: list[str], *options: str) -> list[list[str]]:
    """The fields of every packet; several values of a field are joined by commas. A yes or no is 1 or 0, which
    Debian 13's tshark writes as True or False."""
    argv = ["tshark", "-X", f"lua_script:{script}", *options, "-r", str(file), "-T", "fields"]
    argv += [word for name in fields for word in ("-e", name)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "Error" not in done.stderr and ".lua" not in done.stderr, done.stderr
    truth = {"True": "1", "False": "0"}
    return [[truth.get(value, value) for value in line.split("\t")] for line in done.stdout.splitlines()]


def test_frames_and_how_often_each_number_was_sent(tmp_path: Path) -> None:
    last = 2**24 - 1  # the number wraps, and earlier frames are still known
    file = capture(
        tmp_path / "a.pcapng",
        [
            datagram(frame(DATA, last, 1)),
            datagram(frame(DATA, 0, 2)),
            datagram(frame(ACK, last, 3)),
            datagram(frame(RETRANSMISSION, last, 4)),
            datagram(frame(RETRANSMISSION, last, 5)),
            datagram(b"\xff"),
        ],
    )
    names = ["lft.command", "lft.number", "lft.counter", "lft.transmission", "lft.first", "lft.after"]
    assert tshark(LFT, file, names) == [
        ["1", f"{last}", "1", "1", "", ""],
        ["1", "0", "2", "1", "", ""],
        ["4", f"{last}", "3", "", "", ""],
        ["2", f"{last}", "4", "2", "1", "0.003000000"],
        ["2", f"{last}", "5", "3", "1", "0.004000000"],
        ["", "", "", "", "", ""],
    ]


def test_a_super_packet_is_cut_into_its_frames(tmp_path: Path) -> None:
    frames = [frame(DATA, 7, 20, 1438), frame(DATA, 8, 21, 1438), frame(DATA, 9, 22, 300)]
    data, wire = datagram(b"".join(frames))
    file = capture(tmp_path / "a.pcapng", [(data, wire), (data[:96], wire)])
    lengths = ",".join(str(len(one)) for one in frames)
    assert tshark(LFT, file, ["lft.number", "lft.length"]) == [["7,8,9", lengths], ["7", ""]]


@pytest.mark.parametrize("port", [2004, 4500, 61234])
def test_handshakes_make_any_port_known(tmp_path: Path, port: int) -> None:
    messages = [vector(name) for name in ("INIT", "COOKIE", "INIT with mac2", "RESPONSE")]
    frames = [datagram(one, port) for one in (*messages, vector("aes-128-gcm"))]
    file, owned = capture(tmp_path / "a.pcapng", frames), ["-d", "udp.port==4500,lft"] if port == 4500 else []
    shown = tshark(LFT, file, ["lft.message", "lft.mac1", "lft.number"], *owned)
    assert [row[0] for row in shown] == ["1", "2", "1", "3", ""]
    assert shown[0][1] == messages[0][88:104].hex() and shown[4][2] == str(0xABCDEF)


def test_the_carriage_esp_on_request(tmp_path: Path) -> None:
    file = capture(tmp_path / "a.pcapng", [datagram(frame(DATA, 5, 1), protocol=50)])
    assert tshark(LFT, file, ["lft.number", "esp.spi"]) == [["", "0x01020304"]]
    assert tshark(LFT, file, ["lft.number", "esp.spi"], "-o", "lft.esp:TRUE") == [["5", ""]]


def test_damaged_datagrams_are_said_to_be(tmp_path: Path) -> None:
    rng = random.Random(5)
    whole = [vector("INIT"), frame(DATA, 1, 1), vector("INIT")[:8] + b"\x09" + vector("INIT")[9:]]
    broken = [whole[0][:40], whole[1][:20], whole[2], *(rng.randbytes(rng.randrange(1, 80)) for _ in range(200))]
    shown = tshark(
        LFT, capture(tmp_path / "a.pcapng", [datagram(one) for one in broken]), ["lft.damaged", "lft.number"]
    )
    assert all(row[0] for row in shown[:3]) and len(shown) == len(broken)
    assert all(row[0] or row[1] or len(data) == 1 for row, data in zip(shown, broken, strict=True))


def test_comments_of_a_record_become_fields(tmp_path: Path) -> None:
    file = Pcapng()
    file.interface()
    said = [
        "",
        "dropped: queue",
        "dropped: loss behind the bottleneck",
        "forged: one bit of the payload",
        "in the box when the record ended",
        "somebody's own comment",
    ]
    for i, comment in enumerate(said):
        file.packet(Packet(T0_NS, (A, 1000), (B, 2000), seq=i).frame(), T0_NS + i * MS, comment=comment)
    names = ["comet.dropped", "comet.cause", "comet.behind", "comet.edited", "comet.held"]
    assert tshark(RECORD, file.write(tmp_path / "a.pcapng"), names) == [
        [""] * 5,
        ["1", "queue", "0", "", ""],
        ["1", "loss", "1", "", ""],
        ["", "", "", "forged", ""],
        ["", "", "", "", "1"],
        [""] * 5,
    ]
