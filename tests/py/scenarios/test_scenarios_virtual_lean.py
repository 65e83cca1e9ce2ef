"""What a guest's Python gets: its command line, and what it finds in the place of packages that it loads in part."""

from __future__ import annotations

import importlib
import importlib.util
import shlex
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from scenarios.virtual import guest, lean


def test_mininet_finds_the_distutils_that_python_has_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """As from Python 3.12 on, and without setuptools, whose import would cost a guest most of a second."""
    really = importlib.util.find_spec

    def find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "distutils" else really(name, package)

    for name in [name for name in sys.modules if name.partition(".")[0] in ("distutils", "setuptools")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    try:
        lean.distutils()
        version = importlib.import_module("distutils.version")
        assert version.StrictVersion("2.5") < version.StrictVersion("2.10")
        assert "setuptools" not in sys.modules
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "distutils"]:
            del sys.modules[name]


def test_folders_with_spaces_reach_a_guest_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel parts its command line at spaces outside quotation marks, as a shell does."""
    monkeypatch.setattr(guest, "CHECKOUT", tmp_path / "my checkout")
    share = tmp_path / "my runs" / "share"
    words = shlex.split(" ".join(guest._arguments(share, 2**30, 1)))
    (found,) = (word for word in words if word.startswith("PYTHONPATH="))
    assert found.startswith(f"PYTHONPATH={tmp_path}/my checkout:")
    assert words[-1] == str(share)
