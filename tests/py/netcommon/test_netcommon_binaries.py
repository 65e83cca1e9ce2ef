"""Where tools are looked for, and the error when a tool is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from netcommon import binaries
from netcommon.errors import EXIT_MISSING


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A world without tools."""
    monkeypatch.delenv("LFP_COMET_DELAY", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(binaries, "CHECKOUT", tmp_path / "checkout")
    monkeypatch.setattr(binaries, "_scripts", lambda: tmp_path / "scripts")
    return tmp_path


def test_order_is_override_build_scripts_path(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [empty / "path", empty / "scripts", empty / "checkout" / "build" / "release" / "bin"]
    for place in places:
        tool = executable(place / "comet-delay")
        assert binaries.find("comet-delay") == tool
    chosen = executable(empty / "mine")
    monkeypatch.setenv("LFP_COMET_DELAY", str(chosen))
    assert binaries.find("comet-delay") == chosen


def test_missing_names_every_place(empty: Path) -> None:
    with pytest.raises(binaries.MissingBinary) as caught:
        binaries.find("comet-delay")
    for place in ("LFP_COMET_DELAY", str(empty / "scripts"), str(empty / "checkout"), "PATH"):
        assert place in str(caught.value)
    assert caught.value.status == EXIT_MISSING
    assert "\n" not in str(caught.value)


def test_a_wrong_override_is_not_passed_over(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(empty / "path" / "comet-delay")
    monkeypatch.setenv("LFP_COMET_DELAY", "/nowhere/comet-delay")
    with pytest.raises(binaries.MissingBinary, match="LFP_COMET_DELAY=/nowhere/comet-delay"):
        binaries.find("comet-delay")
