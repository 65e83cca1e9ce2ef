"""Compares what must be the same on the orchestrator's and on a worker's machine, so that one seed gives one result on
both. These are the versions of Python and its packages, the code of lfp, each program, and in virtual time the kernel.

Rejected: the version of lfp alone. It stays the same while somebody works on the tools.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from netcommon import binaries
from netcommon.errors import LfpError
from scenarios.plan import gateway_commands
from scenarios.run import machine
from scenarios.virtual import kernel

KERNEL, CODE = "virtual-time kernel", "code of lfp"
_PACKAGES = ("netcommon", "comet_delay", "rttcp", "lft_ref", "pktlogger", "scenarios")  # the dashboard measures nothing
_SUFFIXES = (".py", ".toml")
_GONE = "missing"


def here(programs: Iterable[str], *, virtual: bool) -> dict[str, str]:
    """Versions and SHA-256 of everything that influences a trial on this machine, by name. ``programs``: the names of
    the C tools and of the gateways' own programs."""
    found = {**_versions(), CODE: _code()} | {name: _program(name) for name in programs}
    if virtual:
        found[KERNEL] = _GONE if kernel.missing() else _sha256_of(kernel.path())
    return found


def difference(wanted: Mapping[str, str], here_versions: Mapping[str, str]) -> str | None:
    """The first difference in a few words, or None."""
    differing = [name for name in wanted if here_versions.get(name) != wanted[name]]
    if not differing:
        return None
    more = f", and {len(differing) - 1} more differ" if len(differing) > 1 else ""
    first = differing[0]
    return f"{first} is {_short(here_versions.get(first, _GONE))}, the orchestrator's is {_short(wanted[first])}{more}"


def _short(text: str) -> str:
    return text[:12] if len(text) == 64 else text


@cache
def _versions() -> dict[str, str]:
    return machine.versions()


def _program(name: str) -> str:
    try:
        path: Path | None = binaries.find(name)
    except LfpError:
        path = gateway_commands.located(name)
    return _sha256_of(path) if path else _GONE


def _code() -> str:
    stats = [(file, Path(file).stat()) for file in _files() if Path(file).exists()]
    return _sha256_of_all(tuple((file, stat.st_size, stat.st_mtime_ns) for file, stat in stats))


@cache
def _files() -> list[str]:
    """The files of lfp's code. A process lists them once, because a worker asks before every trial."""
    found = (file for package in _PACKAGES for file in (binaries.CHECKOUT / package).rglob("*"))
    return sorted(str(file) for file in found if file.suffix in _SUFFIXES)


@cache
def _sha256_of_all(files: tuple[tuple[str, int, int], ...]) -> str:
    """The hash of the files' contents and of their names relative to the tree. Sizes and dates are only keys of the
    cache."""
    found = hashlib.sha256()
    for name, _, _ in files:
        found.update(str(Path(name).relative_to(binaries.CHECKOUT)).encode() + b"\0" + Path(name).read_bytes() + b"\0")
    return found.hexdigest()


def _sha256_of(file: Path) -> str:
    stat = file.stat()
    return _sha256(str(file), stat.st_size, stat.st_mtime_ns)


@cache
def _sha256(file: str, _size: int, _mtime_ns: int) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()
