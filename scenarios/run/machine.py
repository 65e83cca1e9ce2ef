"""What the manifest says about the machine and the programs, so that others can judge and repeat a run."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

from netcommon import binaries

_PACKAGES = ("mininet", "pyroute2", "pyarrow", "pydantic")


def describe() -> dict[str, Any]:
    """Host name, CPU, cores and memory."""
    return {
        "host": platform.node(),
        "cpu": _field("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }


def kernel() -> str:
    """The kernel's release and version."""
    return f"{platform.release()} {platform.version()}"


def versions() -> dict[str, str]:
    """Versions of the testbed and of the packages that shape a run."""
    found = {"python": platform.python_version()}
    for package in ("lfp", *_PACKAGES):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed (checkout)"
    return found


def hashes(names: list[str]) -> dict[str, str]:
    """The SHA-256 of each tool."""
    return {name: hashlib.sha256(binaries.find(name).read_bytes()).hexdigest() for name in names}


def _field(path: str, name: str) -> str:
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return platform.machine()
