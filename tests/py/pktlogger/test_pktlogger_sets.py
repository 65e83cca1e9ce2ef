"""Captures in several files, compressed or not, read as one; compared with editcap, mergecap, tshark and zstd."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from support.pktlogger_conversation import Conversation, join
from support.pktlogger_frames import ACK, T0_NS, A, B, Packet, write_pcapng

import pktlogger
from netcommon.binaries import find

PACKETS, FILE_PACKETS = 6000, 1700


def command(*arguments: str | Path, check: bool = True) -> str:
    return subprocess.run([str(a) for a in arguments], capture_output=True, text=True, timeout=60, check=check).stdout


def index(capture: Path, folder: Path) -> tuple[dict[str, object], str]:
    """The event and stderr of `pktlogger index`."""
    argv = [str(word) for word in (find("pktlogger"), "index", capture, "-o", folder)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    event: dict[str, object] = json.loads(done.stdout)
    return event, done.stderr


def numbered(folder: Path) -> Path:
    """A capture in which the packet with sequence number i was sent i ms after the first."""
    packets = [Packet(T0_NS + i * 1_000_000, (A, 1), (B, 2), 1 + i, 1, ACK, 1) for i in range(PACKETS)]
    return write_pcapng(folder / "whole.pcapng", packets)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """The capture whole.pcapng, and cut by editcap into the set part.pcapng."""
    whole = numbered(tmp_path)
    command("editcap", "-c", str(FILE_PACKETS), whole, tmp_path / "part.pcapng")
    found = sorted(tmp_path.glob("part_*.pcapng"))
    assert len(found) == 4
    return found


def compress(file: Path, *options: str) -> Path:
    command("zstd", "-q", "--rm", *options, file)
    return file.with_name(file.name + ".zst")


def test_a_set_is_read_as_one_capture(files: list[Path], tmp_path: Path) -> None:
    """The set's rows equal those of the whole capture and of mergecap's file; frames are numbered across files."""
    event, said = index(tmp_path / "part.pcapng", tmp_path / "i")
    index(tmp_path / "whole.pcapng", tmp_path / "whole.index")
    command("mergecap", "-a", "-w", tmp_path / "merged.pcapng", *files)
    index(tmp_path / "merged.pcapng", tmp_path / "merged.index")
    table = pktlogger.read_index(tmp_path / "i")
    assert said == "" and event["frames"] == PACKETS and event["truncated"] is False
    assert table["frame"].to_pylist() == list(range(1, PACKETS + 1))
    for other in ("whole.index", "merged.index"):
        assert table.equals(pktlogger.read_index(tmp_path / other))


def test_compressed_files_are_read_as_they_are(files: list[Path], tmp_path: Path) -> None:
    """One file, a set of compressed files, and a file of several frames with the long window of zstd --ultra."""
    for file in files:
        compress(file)
    compress(tmp_path / "whole.pcapng", "--ultra", "-22", "--keep")
    index(tmp_path / "part.pcapng.zst", tmp_path / "set.index")
    index(tmp_path / "whole.pcapng.zst", tmp_path / "one.index")
    index(tmp_path / "whole.pcapng", tmp_path / "whole.index")
    whole = pktlogger.read_index(tmp_path / "whole.index")
    assert whole.num_rows == PACKETS
    assert pktlogger.read_index(tmp_path / "set.index").equals(whole)
    assert pktlogger.read_index(tmp_path / "one.index").equals(whole)


def test_what_is_cut_is_read_up_to_the_cut(files: list[Path], tmp_path: Path) -> None:
    """The second file of the set is cut, the third is empty: the others are read, and both are named or counted."""
    content = files[1].read_bytes()
    files[1].write_bytes(content[: len(content) // 2])
    files[2].write_bytes(b"")
    kept = len(command("tshark", "-r", files[1], "-T", "fields", "-e", "frame.number", check=False).split())
    event, said = index(tmp_path / "part.pcapng", tmp_path / "i")
    assert event["truncated"] is True
    assert event["frames"] == 2 * FILE_PACKETS - (4 * FILE_PACKETS - PACKETS) + kept
    assert said.count("\n") == 1 and files[1].name in said and "1 more file" in said


CUT = {
    "index": ("index", "r.pcapng"),
    "frames": ("frames", "r.pcapng"),
    "analyse": ("analyse", "--sender", "s.pcapng", "--receiver", "r.pcapng"),
    "csv": ("export", "--csv", "--sender", "s.pcapng", "--receiver", "r.pcapng"),
    "a file a flow": ("export", "r.pcapng", "--pcap-per-flow"),
    "match": ("match", "--rules", "rules", "r.pcapng"),
}


@pytest.mark.parametrize("verb", CUT)
def test_every_verb_reads_a_cut_capture_up_to_the_cut_and_says_so(verb: str, tmp_path: Path) -> None:
    path = Conversation()
    path.send(30, 1, 1)
    path.ack(40, 1001)
    for name, packets in (("s", path.sender), ("r", path.receiver)):
        write_pcapng(tmp_path / f"{name}.pcapng", packets)
    cut = tmp_path / "r.pcapng"
    cut.write_bytes(cut.read_bytes()[:-7])
    (tmp_path / "rules").write_text('a string "a"\n')
    output = [] if verb == "match" else ["out"] if verb == "a file a flow" else ["-o", "out"]
    argv = [str(find("pktlogger")), *CUT[verb], *output]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    if done.returncode == 3 and verb == "match":
        pytest.skip(done.stderr)
    said = "pktlogger: 'r.pcapng': ends inside a packet; all before it was read\n"
    assert (done.returncode, done.stderr) == (0, said)
    if verb == "analyse":
        captures = pktlogger.summary(tmp_path / "out")["captures"]
        assert [captures[end]["truncated"] for end in ("sender", "receiver")] == [False, True]
        assert captures["receiver"]["frames"] == 4, "the cut packet alone is missing"


@pytest.mark.parametrize("damage", ["cut", "flipped", "garbage behind"])
def test_a_damaged_zst_is_read_up_to_the_damage(damage: str, tmp_path: Path) -> None:
    """Each zstd frame holds one packet block, so zstd itself shows which packets of a damaged file can be read."""
    whole = numbered(tmp_path).read_bytes()
    half = len(whole) // 2 // 4 * 4
    for name, part in (("a", whole[:half]), ("b", whole[half:])):
        (tmp_path / name).write_bytes(part)
        compress(tmp_path / name)
    first, second = ((tmp_path / f"{name}.zst").read_bytes() for name in "ab")
    changed = bytearray(second)
    changed[len(changed) // 2] ^= 0xFF
    content = {"cut": first + second[:-20], "flipped": first + changed, "garbage behind": first + second + b"garbage"}
    file = tmp_path / "x.pcapng.zst"
    file.write_bytes(content[damage])
    event, said = index(file, tmp_path / "i")
    frames = pktlogger.read_index(tmp_path / "i")["frame"].to_pylist()
    assert event["truncated"] is True and "all before it was read" in said and said.count("\n") == 1
    assert frames == list(range(1, len(frames) + 1))
    assert len(frames) == PACKETS if damage == "garbage behind" else PACKETS // 2 - 2 <= len(frames) < PACKETS


def test_a_file_missing_in_the_middle_is_said(files: list[Path], tmp_path: Path) -> None:
    files[1].unlink()
    event, said = index(tmp_path / "part.pcapng", tmp_path / "i")
    assert event["frames"] == PACKETS - FILE_PACKETS and event["truncated"] is True
    assert "1 files" in said and "missing" in said


def test_the_oldest_files_may_be_gone(files: list[Path], tmp_path: Path) -> None:
    files[0].unlink()
    event, said = index(tmp_path / "part.pcapng", tmp_path / "i")
    assert event["frames"] == PACKETS - FILE_PACKETS and said == ""


def test_other_names_are_not_of_the_set(files: list[Path], tmp_path: Path) -> None:
    for name in (
        "part_1_20260101000000.pcapng",
        "part_00009_2026.pcapng",
        "other_00009_20260101000000.pcapng",
        "part_00009_20260101000000.pcap",
        ".part_00009_20260101000000.pcapng.1.tmp",
    ):
        shutil.copy(files[0], tmp_path / name)
    event, _ = index(tmp_path / "part.pcapng", tmp_path / "i")
    assert event["frames"] == PACKETS


def test_every_reader_takes_a_set(files: list[Path], tmp_path: Path) -> None:
    for file in files:
        compress(file)
    name, rules = tmp_path / "part.pcapng.zst", tmp_path / "rules"
    rules.write_text('greeting string "hello"\n')
    frames = json.loads(command(find("pktlogger"), "frames", name, "-o", tmp_path / "f"))
    assert frames["frames"] == PACKETS
    said = command(find("pktlogger"), "match", "--rules", rules, name).splitlines()
    assert json.loads(said[-1])["frames"] == PACKETS


def test_analyse_joins_sets(tmp_path: Path) -> None:
    """Both ends as sets of files give the same tables as both ends as one file."""
    talk = Conversation()
    for i in range(300):
        talk.send(30 + 10 * i, 1 + 1000 * i)
    first, _ = talk.analyse(tmp_path)
    (tmp_path / "out").rename(tmp_path / "out-whole")
    for end in "sr":
        (tmp_path / f"{end}.pcapng").rename(tmp_path / f"whole-{end}.pcapng")
        command("editcap", "-c", "70", tmp_path / f"whole-{end}.pcapng", tmp_path / f"{end}.pcapng")
        assert len(list(tmp_path.glob(f"{end}_*.pcapng"))) > 3
    assert join(tmp_path, "analyse").returncode == 0
    second = pktlogger.read_analysis(tmp_path / "out")
    assert first.segments.num_rows == 300 and first.segments.equals(second.segments)
