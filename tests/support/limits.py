"""tools/check-limits as a module; its file has no suffix because it is a command."""

from __future__ import annotations

import importlib.util
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

PROGRAM = Path(__file__).resolve().parents[2] / "tools" / "check-limits"


def _load() -> ModuleType:
    loader = SourceFileLoader("check_limits", str(PROGRAM))
    spec = importlib.util.spec_from_loader("check_limits", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


limits = _load()
