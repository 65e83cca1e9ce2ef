"""pyroute2 without what nobody here uses: its top imports every protocol it knows, half of a guest's start-up.

The package is there with the two names we take from its top; all else of it is imported by module as anywhere.
Rejected: importing from its inner modules everywhere, which are not its public interface.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType


def pyroute2() -> None:
    """Puts the small package in the place of the whole, unless that is loaded already."""
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
