"""Files of tools on another machine, which "ssh" pretends to reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.network import place


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The other machine's folder for temporary files."""
    folder, ssh = tmp_path / "tmp", tmp_path / "ssh"
    folder.mkdir(mode=0o777)
    ssh.write_text(f'#!/bin/sh\nTMPDIR={folder} exec sh -c "$2"\n')
    ssh.chmod(0o755)
    monkeypatch.setattr(place, "SSH", (str(ssh),))
    return folder


def test_another_user_there_can_neither_guess_nor_enter_the_name_of_a_file(elsewhere: Path, tmp_path: Path) -> None:
    there, path = place.Place(ssh="there"), tmp_path / "runs" / "run" / "trials" / "0001" / "samples.jsonl"
    path.parent.mkdir(parents=True)
    names = [there.file(path) for _ in range(2)]
    assert names[0] != names[1], "a link of this name could stand there already"
    for name in names:
        assert name.parent.parent == elsewhere and name.parent.stat().st_mode & 0o777 == 0o700
        name.write_text("{}")
        there.fetch(name, path)
        assert path.read_text() == "{}"
    assert list(elsewhere.iterdir()) == []
