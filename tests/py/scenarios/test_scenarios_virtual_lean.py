"""A guest's Python: its command line, and the stand-ins for packages that it loads only in part."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from scenarios.virtual import guest


def test_folders_with_spaces_reach_a_guest_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel splits its command line at spaces outside quotation marks, as a shell does."""
    monkeypatch.setattr(guest, "CHECKOUT", tmp_path / "my checkout")
    share = tmp_path / "my runs" / "share"
    words = shlex.split(" ".join(guest._arguments(share, 2**30, 1)))
    (found,) = (word for word in words if word.startswith("PYTHONPATH="))
    assert found.startswith(f"PYTHONPATH={tmp_path}/my checkout:")
    assert words[-1] == str(share)
