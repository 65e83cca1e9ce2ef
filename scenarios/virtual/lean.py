"""A small stand-in for pyroute2, whose import would slow a guest's start: it imports every protocol that it knows.

The stand-in has the two names that we take from the package itself. Its modules are imported as usual.
Rejected: importing from pyroute2's inner modules everywhere, which are not its public interface.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType


def pyroute2() -> None:
    """Replaces pyroute2 by the stand-in, unless pyroute2 is already loaded."""
    if "pyroute2" in sys.modules:
        return
    spec = importlib.util.find_spec("pyroute2")
    if not spec or not spec.submodule_search_locations:
        return
    package = ModuleType("pyroute2")
    package.__path__ = list(spec.submodule_search_locations)
    package.__spec__ = spec
    sys.modules["pyroute2"] = package
    for module, name in (("iproute", "IPRoute"), ("netlink.exceptions", "NetlinkError")):
        setattr(package, name, getattr(importlib.import_module(f"pyroute2.{module}"), name))
