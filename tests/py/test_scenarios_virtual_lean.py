"""What a guest's Python finds in the place of packages that it does not load whole."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec

import pytest

from scenarios.virtual import lean


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
