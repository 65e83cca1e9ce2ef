"""`lfp virtual --record` and `lfp schedule`: which task ran when, equal records for one seed, and the first difference
of two runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from scenarios.virtual import kernel, program, schedule
from scenarios.virtual.processor import Claim
from scenarios.virtual.schedule import Kind

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]

ROOT = Path(__file__).resolve().parents[2]
LOSSY = """
[scenario]
name = "lossy"
[path]
delay = "10ms"
loss = "30%"
[transfer]
duration = "1s"
"""
# Two processes echo to each other, and a thread sleeps and reads the clock meanwhile.
ECHO = """
import os, socket, threading, time
near, far = socket.socketpair()
if not os.fork():
    while data := far.recv(100):
        far.send(data)
    os._exit(0)
far.close()
def sleep():
    for _ in range(100):
        time.sleep(0.001)
threading.Thread(target=sleep).start()
for number in range(2000):
    near.send(b"%d" % number)
    near.recv(100)
"""
CHILD = "import os, time\nfor _ in range(50): os.getppid()\ntime.sleep(2)"


def lfp(*arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "lfp", *map(str, arguments)]
    environment = dict(os.environ) | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def test_a_record_has_every_call_and_when_everybody_waits(tmp_path: Path) -> None:
    done = lfp("virtual", "--record", "who", "--", sys.executable, "-S", "-c", CHILD, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["who"]
    records = schedule.load(tmp_path / "who")
    calls = records[records["kind"] == Kind.CALL]
    parents = calls[calls["call"] == 110]  # getppid
    assert len(parents) == 50 and len(set(parents["task"].tolist())) == 1
    assert set(parents["result"].tolist()) == {1}  # process 1 has started it
    asleep = np.flatnonzero((records["kind"] == Kind.SWITCH) & (records["task"] == 0))
    waited_ns = int((records["now_ns"][asleep + 1] - records["now_ns"][asleep]).sum())
    assert 1.999e9 < waited_ns < 2.001e9

    shown = lfp("schedule", "who", folder=tmp_path)
    row = next(line for line in shown.stdout.splitlines() if line.startswith(f"{parents['task'][0]} "))
    assert row.split()[1] == Path(sys.executable).name and " 2 s " in row
    listed = lfp("schedule", "who", "--from", "0", "--count", str(len(records)), folder=tmp_path).stdout.splitlines()
    assert len(listed) == len(records)
    assert listed[0].endswith("the record begins") and listed[-1].endswith("the guest ends")
    assert sum("getppid = 1" in line for line in listed) == 50
    assert any("everybody waits" in line for line in listed)


def test_one_seed_gives_one_record_and_another_seed_shows_where_it_parts(tmp_path: Path) -> None:
    (tmp_path / "lossy.toml").write_text(LOSSY)
    command = ["--scenario", "lossy.toml", "--", "ping", "-qc", "20", "-i", "0.1", "rcv"]
    for name, seed in (("first", "7"), ("again", "7"), ("other", "8")):
        lfp("virtual", "--record", name, "--seed", seed, *command, folder=tmp_path)
    same = lfp("schedule", "first", "again", folder=tmp_path)
    assert (same.returncode, same.stdout.split(":")[0]) == (0, "equal"), same.stdout + same.stderr
    parted = lfp("schedule", "first", "other", folder=tmp_path)
    assert parted.returncode == 1 and "they differ" in parted.stdout
    assert [line for line in parted.stdout.splitlines() if line.endswith(":")] == ["both:", "first:", "other:"]


@pytest.mark.parametrize("kept", [0, 100, -32])
def test_what_is_no_whole_record_is_refused(tmp_path: Path, kept: int) -> None:
    lfp("virtual", "--record", "who", "--", "true", folder=tmp_path)
    path = tmp_path / "who"
    path.write_bytes(path.read_bytes()[:kept])
    done = lfp("schedule", "who", folder=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith("lfp: who: not a")
    assert done.stderr.count("\n") == 1


def test_a_full_disk_leaves_no_record_and_is_one_line(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", disk], check=True)
    try:
        done = lfp("virtual", "--record", disk / "who", "--", sys.executable, "-c", CHILD, folder=tmp_path)
        assert done.returncode == 1 and not list(disk.iterdir())
        assert done.stderr == f"lfp: --record {disk}/who: it could not be written whole; make room on its disk\n"
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    done = lfp("virtual", "--record", "none/who", "--", "true", folder=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "none/who" in done.stderr


def another_processor(claim: Claim) -> int:
    """A processor other than the guest kernel's: on one processor, kernel and programs would poll for each other until
    the polling time is over."""
    return next(number for number in claim._order if number != claim.number)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="this machine has one processor")
def test_a_processor_of_the_host_for_the_programs_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"  # Python lists the script's folder, so its content is part of the record
    empty.mkdir()
    for name, spare in (("shared", lambda _: None), ("apart", another_processor)):
        monkeypatch.setattr(Claim, "_spare", spare)
        program.run([sys.executable, "-S", "-c", ECHO], folder=empty, record=tmp_path / name)
    shared, apart = (schedule.load(tmp_path / name) for name in ("shared", "apart"))
    assert len(shared) > 10_000 and schedule.first_difference(shared, apart) is None
