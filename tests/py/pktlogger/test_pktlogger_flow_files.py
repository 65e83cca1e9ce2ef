"""`pktlogger export --pcap-per-flow`: the files of the flows, compared by tshark with the whole capture."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from support.pktlogger_frames import ACK, SYN, T0_NS, A, B, Packet, Pcapng, write_pcap, write_pcapng

from netcommon.binaries import find

FIELDS = ("frame.time_epoch", "frame.comment", "frame.cap_len", "frame.len", "tcp.srcport", "tcp.seq_raw")
needs_tshark = pytest.mark.skipif(not shutil.which("tshark"), reason="not installed: tshark")


def split(capture: Path, folder: Path, *options: str, files_max: int | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the export; with `files_max` the process may have no more open files."""
    argv = [str(find("pktlogger")), "export", "--pcap-per-flow", str(folder), str(capture), *options]
    if files_max is not None:
        argv = ["prlimit", f"--nofile={files_max}", *argv]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60)


def shown(capture: Path) -> list[str]:
    """A line for each TCP packet, as tshark prints it; tshark must read to the end without complaint."""
    argv = ["tshark", "-n", "-r", str(capture), "-Y", "tcp", "-T", "fields"]
    argv += [word for field in FIELDS for word in ("-e", field)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    assert "cut short" not in done.stderr and "damaged" not in done.stderr
    return done.stdout.splitlines()


def packet(i: int, port: int, flags: int = ACK) -> Packet:
    return Packet(T0_NS + i * 1_001, (A, port), (B, 5010), 100 + i, 1, flags, 10)


def odd_capture(path: Path, order: str) -> Path:
    """Two sections; interfaces of three resolutions, one of them described late; comments; a frame that is not TCP."""
    file = Pcapng(order)
    file.interface(tsresol=9)
    file.packet(packet(0, 1).frame(), T0_NS + 1, comment="first")
    file.packet(packet(1, 2).frame(), T0_NS + 2)
    file.packet((bytes(60), 60), T0_NS + 3, comment="not TCP")
    file.interface(tsresol=6)
    file.packet(packet(2, 1).frame(), T0_NS // 1000 + 4, interface=1, comment="of the late interface")
    file.statistics(4, 0, 0, 4)
    file.section()
    file.interface(tsresol=3)
    file.packet(packet(3, 2).frame(), T0_NS // 1_000_000 + 5, comment="of the second section")
    file.packet(packet(4, 3).frame(), T0_NS // 1_000_000 + 6)
    return file.write(path)


@needs_tshark
@pytest.mark.parametrize("kind", ["big", "nano"])
def test_the_files_have_the_packets_of_the_capture(tmp_path: Path, kind: str) -> None:
    """Every packet is in one file, with its time, comment, lengths and numbers."""
    capture = tmp_path / "c"
    if kind == "big":
        odd_capture(capture, ">")
    else:
        write_pcap(capture, [packet(i, 1 + i % 3) for i in range(9)])
    done = split(capture, tmp_path / "flows")
    assert done.returncode == 0, done.stderr
    files = sorted((tmp_path / "flows").iterdir())
    assert [file.name for file in files] == [f"{i}_{A}_{i + 1}_{B}_5010.pcapng" for i in range(3)]
    parts = [shown(file) for file in files]
    whole = shown(capture)
    assert [line for part in parts for line in part] == sorted(whole, key=lambda line: int(line.split("\t")[4]))
    end = json.loads(done.stdout)
    assert (end["event"], end["flows"], end["packets"]) == ("end", 3, len(whole))


def test_many_flows_need_few_open_files(tmp_path: Path) -> None:
    """Connections with the addresses and ports of an earlier one have files of their own, as in the index."""
    packets = [packet(i, 1 + i % 200, SYN) for i in range(400)]
    done = split(write_pcapng(tmp_path / "c", packets), tmp_path / "flows", files_max=12)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "flows").iterdir())) == 400


def test_a_refused_capture_leaves_nothing(tmp_path: Path) -> None:
    """Too many flows, and damage in the middle: one line says why, and no folder is there."""
    capture = write_pcapng(tmp_path / "c", [packet(i, 1 + i) for i in range(5)])
    done = split(capture, tmp_path / "flows", "--max-flows", "4")
    assert done.returncode == 1
    assert "more than 4 flows; allow more with --max-flows" in done.stderr
    capture.write_bytes(capture.read_bytes() + bytes(32))
    done = split(capture, tmp_path / "flows")
    assert done.returncode == 1 and "damaged" in done.stderr
    assert list(tmp_path.iterdir()) == [capture]


@pytest.mark.parametrize("option", ["--csv", "--xplot", "--sender=x", "--output=x"])
def test_options_of_the_joined_captures_are_refused(tmp_path: Path, option: str) -> None:
    done = split(tmp_path / "c", tmp_path / "flows", option)
    assert done.returncode == 2
    assert f"{option.split('=')[0]} has no effect with --pcap-per-flow, which takes one capture" in done.stderr
