"""TCP inside tunnels, and IP fragments, as `pktlogger index` sees them and as tshark does."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from support.pktlogger_conversation import Conversation, join
from support.pktlogger_frames import ACK, SYN, T0_NS, A, B, Packet, Pcapng

import pktlogger
from netcommon.binaries import find

# Each file has one packet after two octets that only the fuzz target reads; make_corpus.py writes the files.
CORPUS = Path(__file__).resolve().parents[2] / "corpora"


def capture(path: Path, *names: str) -> Path:
    """The packets of the corpus, a second apart, because many hold the same segment: closer ones would be copies."""
    file = Pcapng()
    file.interface()
    for i, name in enumerate(names):
        data = (CORPUS / name).read_bytes()[2:]
        file.packet((data, len(data)), T0_NS + i * 1_000_000_000)
    return file.write(path)


def kinds(file: Path, folder: Path, *options: str) -> tuple[dict[str, int], str]:
    """How many frames of which kind, and what was said on stderr."""
    done = subprocess.run(
        [find("pktlogger"), "index", file, "-o", folder, *options], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((folder / "flows.json").read_text())["capture"]
    return {"tunnelled": found["tunnelled"]} | found["kinds"], done.stderr


TUNNELS = sorted(f"nc_tunnel/{file.name}" for file in (CORPUS / "nc_tunnel").glob("*") if "_cut" not in file.name)


def test_every_tunnel_is_looked_into_when_asked(tmp_path: Path) -> None:
    file = capture(tmp_path / "a.pcapng", *TUNNELS)
    found, _ = kinds(file, tmp_path / "with", "--tunnels")
    assert (found["tcp"], found["tunnelled"]) == (len(TUNNELS), len(TUNNELS)) and len(TUNNELS) >= 10
    found, _ = kinds(file, tmp_path / "without")
    assert (found["tcp"], found["tunnelled"]) == (0, 0)


@pytest.mark.skipif(not shutil.which("tshark"), reason="not installed: tshark")
def test_tshark_finds_the_same_segments(tmp_path: Path) -> None:
    file = capture(tmp_path / "a.pcapng", *TUNNELS)
    kinds(file, tmp_path / "index", "--tunnels")
    rows = pktlogger.read_index(tmp_path / "index").to_pydict()
    ours = [(rows["frame"][i], rows["len"][i], rows["wire_len"][i]) for i in range(len(rows["frame"]))]
    fields = [word for name in ("frame.number", "tcp.len", "frame.len", "ip.proto") for word in ("-e", name)]
    argv = ["tshark", "-r", str(file), "-d", "udp.port==4789,vxlan", "-T", "fields", "-E", "occurrence=l", *fields]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    theirs = [tuple(int(value) for value in line.split("\t")[:3]) for line in done.stdout.splitlines()]
    assert ours == theirs, done.stdout


def test_fragments_are_counted_and_said(tmp_path: Path) -> None:
    names = ("nc_packet/udp4_fragment", "nc_packet/udp6_fragment", "nc_packet/tcp4")
    found, said = kinds(capture(tmp_path / "a.pcapng", *names), tmp_path / "index")
    assert (found["fragment"], found["tcp"], found["udp"]) == (2, 1, 0)
    assert "2 IP fragments have no rows; a smaller MTU at the sender avoids them" in said


def in_gre(path: Path, frames: Iterable[tuple[int, bytes, int]]) -> Path:
    """A capture of the frames (time, bytes, length on the wire) inside GRE over IPv4."""
    file = Pcapng()
    file.interface()
    for t_ns, frame, wire in frames:
        added = 24  # an IPv4 header and four octets of GRE
        ip = struct.pack("!BBHHHBBH", 0x45, 0, wire - 14 + added, 0, 0, 64, 47, 0) + bytes([192, 0, 2, 1, 192, 0, 2, 2])
        data = frame[:12] + b"\x08\x00" + ip + bytes(2) + frame[12:14] + frame[14:]
        file.packet((data, wire + added), t_ns)
    return file.write(path)


def test_both_ends_are_joined_inside_a_tunnel(tmp_path: Path) -> None:
    """A transfer with a loss that is repaired has the same tables and the same summary inside a tunnel."""
    talk = Conversation()
    talk.send(30, 1, 4, arrive=[(0, 1, 10), (2, 2, 10)])
    talk.send(60, 1001, 1, arrive=[(0, 1, 10)])
    plain, _ = talk.analyse(tmp_path)
    shutil.rmtree(tmp_path / "out")
    for name, packets in (("s", talk.sender), ("r", talk.receiver)):
        in_gre(tmp_path / f"{name}.pcapng", ((p.t_ns, *p.frame()) for p in sorted(packets, key=lambda p: p.t_ns)))
    assert "no connection in common" in join(tmp_path, "analyse").stderr
    assert join(tmp_path, "analyse", "--tunnels").returncode == 0
    inside = pktlogger.read_analysis(tmp_path / "out")
    assert inside.summary["flows"] == plain.summary["flows"] and plain.summary["flows"][0]["lost"] == 1
    assert inside.segments.equals(plain.segments) and inside.acks.equals(plain.acks)
    counts = inside.summary["captures"]["sender"]
    assert counts["tunnelled"] == counts["kinds"]["tcp"] == len(talk.sender)


def test_fragments_are_said_by_analyse_too(tmp_path: Path) -> None:
    talk = Conversation()
    talk.send(30, 1, 2)
    talk.analyse(tmp_path)
    shutil.rmtree(tmp_path / "out")
    fragment = capture(tmp_path / "f.pcapng", "nc_packet/udp4_fragment")
    whole = tmp_path / "s.pcapng"
    whole.write_bytes(whole.read_bytes() + fragment.read_bytes())  # a second section
    done = join(tmp_path, "analyse")
    assert done.returncode == 0 and "s.pcapng': 1 IP fragments have no rows" in done.stderr


def test_a_string_is_found_inside_a_tunnel(tmp_path: Path) -> None:
    text = b"needle in a tunnel"
    ends = ((A, 40000), (B, 80))
    syn = Packet(T0_NS, *ends, 99, 0, SYN)
    parts = [Packet(T0_NS + 1 + i, *ends, 100 + i, 1, ACK, 1) for i in range(len(text))]
    frames = [(syn.t_ns, *syn.frame())]
    frames += [(p.t_ns, p.frame()[0] + text[i : i + 1], p.frame()[1]) for i, p in enumerate(parts)]
    file = in_gre(tmp_path / "a.pcapng", frames)
    rules = tmp_path / "rules"
    rules.write_text('a string "needle in a tunnel"')
    argv = [str(find("pktlogger")), "match", "--rules", str(rules), str(file)]
    for options, hits in ((["--tunnels"], 1), ([], 0)):
        done = subprocess.run([*argv, *options], capture_output=True, text=True, timeout=60)
        if done.returncode == 3:
            pytest.skip("this build has neither Vectorscan nor Hyperscan")
        end = json.loads(done.stdout.splitlines()[-1])
        assert (end["hits"], end["tunnelled"]) == (hits, hits * len(frames)), done.stdout
