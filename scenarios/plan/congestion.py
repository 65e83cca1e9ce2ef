"""Names of congestion controls: those of Linux, additional ones of this kernel, and rttcp's own.

rttcp is asked for its own names and their parameters (``rttcp cc list``), so nothing here repeats them. Linux's names
are a table, because a kernel lists only those that are loaded, and loads others when a socket asks for them.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from netcommon import probe
from netcommon.binaries import MissingBinary, find
from netcommon.errors import LfpError
from scenarios.plan.messages import suggest

LINUX = (
    "bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "reno", "scalable",
    "vegas", "veno", "westwood", "yeah",
)  # fmt: skip
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
OURS = "lfp_"


class _Own(NamedTuple):
    parameters: tuple[str, ...]
    virtual_only: bool


def wrong(text: str) -> str | None:
    """What is wrong with ``NAME`` or ``NAME:KEY=VALUE,…``, or None. Values are checked by rttcp when it starts."""
    name, colon, assignments = text.partition(":")
    ours = _installed()
    if ours is None and (colon or name.startswith(OURS)):
        return None  # the run will report that the tool is missing
    own = ours or {}
    if name in own:
        return _wrong_parameter(name, own[name].parameters, assignments.split(",") if colon else [])
    known = sorted({*LINUX, *_loaded(), *own})
    if name not in known:
        module = "" if name.startswith(OURS) else f", or load a module of this kernel: modprobe tcp_{name}"
        return f"unknown{suggest(name, known)} allowed is one of {', '.join(known)}{module}"
    return f"parameters only with {', '.join(own)}; want {name} alone" if colon else None


def virtual_only() -> frozenset[str]:
    """rttcp's congestion controls that only the kernel of virtual time has."""
    return frozenset(name for name, row in (_installed() or {}).items() if row.virtual_only)


def _wrong_parameter(name: str, parameters: tuple[str, ...], assignments: list[str]) -> str | None:
    for assignment in assignments:
        key, _, value = assignment.partition("=")
        try:
            float(value)
        except ValueError:
            return f"'{assignment}': want KEY=NUMBER; the keys of {name} are {', '.join(parameters)}"
        if key not in parameters:
            return f"'{assignment}': unknown{suggest(key, parameters)} the keys of {name} are {', '.join(parameters)}"
    return None


def _loaded() -> list[str]:
    """The controls that this kernel has at present, including third-party modules."""
    try:
        return _AVAILABLE.read_text(encoding="ascii").split()
    except OSError:
        return []


def _installed() -> dict[str, _Own] | None:
    """rttcp's own congestion controls by name; None without the tool."""
    try:
        binary = find("rttcp")
        return _listed(binary, binary.stat().st_mtime_ns)
    except (MissingBinary, OSError):
        return None


@cache
def _listed(binary: Path, _built_ns: int) -> dict[str, _Own] | None:
    try:
        rows = [json.loads(line) for line in probe.output([binary, "cc", "list", "--json"]).splitlines()]
        return {row["name"]: _Own(tuple(row["parameters"]), row["virtual_only"]) for row in rows}
    except (LfpError, ValueError, KeyError):
        return None
