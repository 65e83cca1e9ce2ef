"""What the manifest says about the machine and the programs, so that others can judge and repeat a run."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from netcommon import binaries
from netcommon.extras import DISTRIBUTION

_GIT_S = 10.0
_LOADED = re.compile(r"^\s+(\S+) => (/.+) \(0x", re.MULTILINE)
_OF_LIBC = re.compile(r"(libc|libm|libdl|libpthread|librt|libresolv|libanl)\.so")
_PACKAGES = ("pyroute2", "pyarrow", "pydantic")


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
    """Versions of the testbed, the packages and the C library that influence a run."""
    versions_by_name = {"python": platform.python_version(), "libc": " ".join(platform.libc_ver())}
    for name, package in (("lfp", DISTRIBUTION), *((package, package) for package in _PACKAGES)):
        try:
            versions_by_name[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions_by_name[name] = "not installed (checkout)"
    return versions_by_name


def hashes(files: dict[str, Path]) -> dict[str, str]:
    """The SHA-256 of each program, under its name."""
    return {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items()}


def system(programs: Iterable[Path], started: dict[str, Path]) -> dict[str, str]:
    """The SHA-256 of the system programs that ours start, and of the libraries that all of these load, under their
    names. The C library is left out, because `versions` has it."""
    found = dict(started)
    for program in (*programs, *started.values()):
        found |= _libraries(program)
    return hashes(dict(sorted(found.items())))


def _libraries(program: Path) -> dict[str, Path]:
    """The libraries that the loader finds for a program; none of a script or a static one."""
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    return {name: Path(path) for name, path in _LOADED.findall(done.stdout) if not _OF_LIBC.match(name)}


def commits(files: dict[str, Path]) -> dict[str, str]:
    """The Git commit of the checkout that contains each program, and of lfp itself; ``-dirty`` with changes on top.
    Programs outside of a checkout, or in an environment's scripts, are left out."""
    folders = {name: file.resolve().parent for name, file in files.items()} | {"lfp": binaries.CHECKOUT}
    scripts = Path(sysconfig.get_path("scripts")).resolve()
    known = {folder: _commit(folder) for folder in set(folders.values()) if folder != scripts}
    return {name: commit for name, folder in folders.items() if (commit := known.get(folder))}


def _commit(folder: Path) -> str | None:
    """What Git says about the checkout around a folder; None without a checkout, without Git, or without an answer."""
    if not shutil.which("git"):
        return None
    line = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=_GIT_S, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout.strip() or None


def _field(path: str, name: str) -> str:
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return platform.machine()
