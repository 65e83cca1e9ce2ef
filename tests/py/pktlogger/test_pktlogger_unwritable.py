"""pktlogger: if an output cannot be written, the program prints the reason and the output's name and exits with 1.

The small disks are file systems in memory, in namespaces that end with the command.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.pktlogger_conversation import Conversation
from support.pktlogger_frames import write_pcapng
from support.ports import free_port
from test_pktlogger_match import capture, stream

from netcommon.binaries import find

VERBS: dict[str, tuple[str, ...]] = {
    "index": ("index", "s.pcapng", "-o", "out"),
    "frames": ("frames", "s.pcapng", "-o", "out"),
    "analyse": ("analyse", "--sender", "s.pcapng", "--receiver", "r.pcapng", "-o", "out"),
    "csv": ("export", "--csv", "--sender", "s.pcapng", "--receiver", "r.pcapng", "-o", "out"),
    "a file a flow": ("export", "--pcap-per-flow", "out", "s.pcapng"),
    "match": ("match", "--rules", "rules", "s.pcapng"),
    "push": ("push", "127.0.0.1", "--packets", "1", "--port", "PORT"),
    "version": ("--version",),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = Conversation()
    path.send(30, 1, 1)
    path.ack(40, 1001)
    write_pcapng(tmp_path / "s.pcapng", path.sender)
    write_pcapng(tmp_path / "r.pcapng", path.receiver)
    (tmp_path / "rules").write_text('a string "a"\n')
    return tmp_path


def said(folder: Path, stdout: int, *arguments: str) -> tuple[int, str]:
    """Exit status and stderr of a command with this standard output."""
    argv = [str(find("pktlogger")), *(str(free_port()) if word == "PORT" else word for word in arguments)]
    done = subprocess.run(argv, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=30, cwd=folder)
    return done.returncode, done.stderr


@pytest.mark.parametrize("form", ["--json", "--human"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_full_disk_behind_stdout_is_said(verb: str, form: str, folder: Path) -> None:
    options = () if verb == "version" else (form,)
    with Path("/dev/full").open("wb") as full:
        status, errors = said(folder, full.fileno(), *VERBS[verb], *options)
    if status == 3 and verb == "match":
        pytest.skip(errors)
    assert (status, errors) == (1, "pktlogger: stdout: cannot write it: No space left on device\n")


@pytest.mark.parametrize("verb", VERBS)
def test_a_closed_pipe_behind_stdout_is_said(verb: str, folder: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    status, errors = said(folder, write, *VERBS[verb])
    os.close(write)
    if status == 3 and verb == "match":
        pytest.skip(errors)
    assert (status, errors) == (1, "pktlogger: stdout: cannot write it: Broken pipe\n")
    assert not [path for path in folder.iterdir() if path.suffix == ".tmp"]


def test_match_stops_when_nobody_reads_its_hits(folder: Path) -> None:
    """pktlogger stops reading the captures then: it does not notice that the second file is no capture."""
    (folder / "many").write_text("every regex /./\n")
    (folder / "none").write_text("no capture\n")
    read, write = os.pipe()
    os.close(read)
    capture(folder / "whole.pcapng", stream([(1400 * i, b"x" * 1400) for i in range(20)]))
    status, errors = said(folder, write, "match", "--rules", "many", "whole.pcapng", "none")
    os.close(write)
    if status == 3:
        pytest.skip(errors)
    assert (status, errors) == (1, "pktlogger: stdout: cannot write it: Broken pipe\n")


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both captures of 6,000 segments; each fiftieth is lost and sent again."""
    folder, path = tmp_path_factory.mktemp("long"), Conversation()
    for i in range(6_000):
        if i % 50 == 7:
            path.send(30 + i, 1 + 1000 * i, arrive=[])
        path.send(30.5 + i, 1 + 1000 * i)
        path.ack(41 + i, 1 + 1000 * (i + 1))
    for name, packets in (("s", path.sender), ("r", path.receiver)):
        write_pcapng(folder / f"{name}.pcapng", sorted(packets, key=lambda packet: packet.t_ns))
    (folder / "disk").mkdir()
    return folder


SMALL_DISK = """
mount -t tmpfs -o "size=$1k" none disk || exit 99
shift
"$@" >/dev/null
status=$?
ls -A disk
exit $status
"""
BOTH = ("--sender", "s.pcapng", "--receiver", "r.pcapng")
OUTPUTS = {
    "index": ("index", "s.pcapng", "-o", "disk/out"),
    "frames": ("frames", "s.pcapng", "-o", "disk/out"),
    "analyse": ("analyse", *BOTH, "-o", "disk/out"),
    "csv": ("export", "--csv", *BOTH, "-o", "disk/out"),
    "xplot": ("export", "--xplot", *BOTH, "-o", "disk/out"),
    "a file a flow": ("export", "--pcap-per-flow", "disk/out", "s.pcapng"),
}


@pytest.mark.parametrize("verb", OUTPUTS)
def test_a_full_disk_leaves_nothing_and_is_said(verb: str, long: Path) -> None:
    """Disks of growing size, so that each of the files in turn is the one that does not fit."""
    wrong, statuses = [], set[int]()
    for size_kb in (4, 8, *range(20, 3000, 60)):
        argv = ["unshare", "--map-root-user", "--mount", "sh", "-c", SMALL_DISK, "sh", str(size_kb)]
        argv += [str(find("pktlogger")), *OUTPUTS[verb]]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, cwd=long)
        if "unshare" in done.stderr:
            pytest.skip(done.stderr)
        full = (1, "") if done.stderr.endswith(": No space left on device\n") else None
        kept = (0, "out\n") if not done.stderr else None
        statuses.add(done.returncode)
        if (done.returncode, done.stdout) not in (full, kept) or done.stderr.count("\n") > 1:
            wrong.append((size_kb, done))
        if done.returncode == 0:
            break
    assert not wrong and statuses == {0, 1}


NAMES = [("csv", "segments.csv"), ("xplot", "0.xpl"), ("a file a flow", "_5010.pcapng")]


@pytest.mark.parametrize(("verb", "name"), NAMES)
def test_the_file_that_does_not_fit_is_named(verb: str, name: str, long: Path) -> None:
    """The disk has room for the tables, but not for the export that is made from them."""
    for size_kb in range(500, 3000, 100):
        argv = ["unshare", "--map-root-user", "--mount", "sh", "-c", SMALL_DISK, "sh", str(size_kb)]
        done = subprocess.run(
            [*argv, str(find("pktlogger")), *OUTPUTS[verb]], capture_output=True, text=True, cwd=long, timeout=60
        )
        if "unshare" in done.stderr:
            pytest.skip(done.stderr)
        if done.returncode == 0 or f"{name}: No space left on device" in done.stderr:
            break
    assert done.returncode == 1 and f"{name}: No space left on device" in done.stderr
