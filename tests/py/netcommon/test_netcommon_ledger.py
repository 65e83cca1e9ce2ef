"""Ledgers and what ``lfp clean`` removes by them: only what a ledger proves to be ours, and only if its owner is
dead."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from netcommon.ledger import Ledger, OwnedProcess
from scenarios.run import leftovers


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that somebody left."""
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


def crashed(folder: Path, processes: list[OwnedProcess], directories: list[Path] = []) -> Path:  # noqa: B006
    """A ledger whose owner is dead: our own id with another start time."""
    owner = OwnedProcess(os.getpid(), 1, "lfp")
    path = folder / "1-1.json"
    rows = {"owner": asdict(owner), "processes": [asdict(p) for p in processes]}
    path.write_text(json.dumps(rows | {"directories": [str(d) for d in directories]}))
    return path


def owned(process: subprocess.Popen[bytes]) -> OwnedProcess:
    found = OwnedProcess.of(process.pid, "sleep")
    assert found
    return found


def test_ends_a_process_that_a_crash_left(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    record = crashed(tmp_path, [owned(sleeper)])
    removed = leftovers.clean(tmp_path)
    assert f"process {sleeper.pid} (sleep)" in removed
    assert sleeper.wait(5) != 0
    assert not record.exists()


def test_a_process_with_a_reused_id_is_left_alone(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    stranger = replace(owned(sleeper), started_ticks=owned(sleeper).started_ticks - 1)
    crashed(tmp_path, [stranger])
    leftovers.clean(tmp_path)
    assert sleeper.poll() is None


def test_a_running_run_is_left_alone(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    with Ledger.open(tmp_path) as ledger:
        ledger.add_process(sleeper.pid, "sleep")
        assert leftovers.clean(tmp_path) == []
        assert sleeper.poll() is None
        assert ledger.path.exists()


def test_dry_run_changes_nothing(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    record = crashed(tmp_path, [owned(sleeper)])
    assert leftovers.clean(tmp_path, dry_run=True)
    assert sleeper.poll() is None
    assert record.exists()


def test_directories_go_and_their_neighbours_stay(tmp_path: Path) -> None:
    ours, theirs, state = tmp_path / ".0001.tmp", tmp_path / "0000", tmp_path / "state"
    for folder in (ours / "log", theirs, state):
        folder.mkdir(parents=True)
    crashed(state, [], [ours])
    leftovers.clean(state)
    assert not ours.exists()
    assert theirs.exists()


def test_a_damaged_record_is_reported_and_kept(tmp_path: Path) -> None:
    record = tmp_path / "9-9.json"
    record.write_text("{")
    assert "9-9.json" in leftovers.clean(tmp_path)[0]
    assert record.exists()


def test_a_record_that_was_being_written_goes_too(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    complete = crashed(tmp_path, [owned(sleeper)]).rename(tmp_path / f"{os.getpid()}-1.tmp")
    cut = tmp_path / f"{os.getpid()}-2.tmp"
    cut.write_text(complete.read_text()[:20])
    ours = OwnedProcess.of(os.getpid(), "lfp")
    assert ours
    alive, foreign = tmp_path / f"{ours.pid}-{ours.started_ticks}.tmp", tmp_path / "somebody's.tmp"
    for path in (alive, foreign):
        path.write_text("{")
    removed = leftovers.clean(tmp_path)
    assert sleeper.wait(10) and f"record {complete}" in removed and f"record {cut}" in removed
    assert sorted(tmp_path.iterdir()) == sorted([alive, foreign])
