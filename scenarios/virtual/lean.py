"""Small stand-ins for packages whose import would slow a guest's start. Importing pyroute2 imports every protocol that
it knows, which is half of that time. distutils, which Mininet imports, would bring all of setuptools.

The stand-in for pyroute2 has the two names that we take from the package itself. Its modules are imported as usual.
Rejected: importing from pyroute2's inner modules everywhere, which are not its public interface.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType


def all_packages() -> None:
    """Puts every stand-in in its place."""
    pyroute2()
    distutils()


def pyroute2() -> None:
    """Puts the stand-in in the place of pyroute2, unless that is already loaded."""
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


def distutils() -> None:
    """Provides distutils, which Python has no longer had since 3.12, from setuptools' copy but without the rest of
    setuptools. On a host a .pth file does this, which a guest's Python does not read."""
    if importlib.util.find_spec("distutils"):
        return
    setuptools = importlib.util.find_spec("setuptools")
    if not setuptools or not setuptools.submodule_search_locations:
        return
    package = ModuleType("distutils")
    package.__path__ = [f"{place}/_distutils" for place in setuptools.submodule_search_locations]
    sys.modules["distutils"] = package
