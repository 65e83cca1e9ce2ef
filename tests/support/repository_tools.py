"""Commands of tools/ as modules; their files have no suffix because they are commands."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def loaded(name: str) -> ModuleType:
    """A file of tools/ as a module, which may import its neighbours."""
    if str(TOOLS) not in sys.path:
        sys.path.append(str(TOOLS))
    module_name = name.removesuffix(".py").replace("-", "_")
    if module_name in sys.modules:
        return sys.modules[module_name]
    loader = SourceFileLoader(module_name, str(TOOLS / name))
    spec = importlib.util.spec_from_loader(module_name, loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    loader.exec_module(module)
    return module


tree = loaded("tree.py")
check_circles = loaded("check-circles")
outliers = loaded("outliers")
names = loaded("names.py")
numbers_read = loaded("numbers_read.py")
rooms = loaded("rooms.py")
