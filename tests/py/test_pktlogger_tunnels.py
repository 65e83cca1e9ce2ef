"""TCP inside tunnels, and IP fragments, as `pktlogger index` sees them and as tshark does."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from pktlogger_frames import T0_NS, Pcapng

import pktlogger
from netcommon.binaries import find

# One packet a file behind two octets that only the fuzz target reads; make_corpus.py writes them.
CORPUS = Path(__file__).resolve().parents[1] / "fuzz/netcommon/corpus"


def capture(path: Path, *names: str) -> Path:
    """The packets of the corpus, a millisecond apart."""
    file = Pcapng()
    file.interface()
    for i, name in enumerate(names):
        data = (CORPUS / name).read_bytes()[2:]
        file.packet((data, len(data)), T0_NS + i * 1_000_000)
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
