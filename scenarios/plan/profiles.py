"""TCP profiles: named sets of per-namespace sysctls and route options, data in ``profiles/*.toml``. A scenario may add
sysctls of its own.

Every setting is written out, so that the host's defaults do not matter. ``network/sysctls.py`` writes a profile into a
namespace and reads it back.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from netcommon import quantity
from netcommon.errors import UsageError

LARGEST_BUFFER_BYTES = 2**30  # third value of tcp_rmem and tcp_wmem with which autotuning never limits
FOLDER = Path(__file__).resolve().parents[1] / "profiles"


@dataclass(frozen=True)
class Profile:
    """``sysctls``: values as text by full name; ``required``: those without which the profile is meaningless;
    ``rto_min_ms``: minimum RTO of the routes; ``window_bytes``: default TCP window of programs of that time (None: the
    kernel sizes it)."""

    name: str
    title: str
    congestion: str
    sysctls: dict[str, str]
    required: frozenset[str]
    rto_min_ms: int | None
    window_bytes: int | None

    @property
    def keeps_metrics(self) -> bool:
        """Whether a connection passes its metrics on to the next one with the same destination, as is Linux's
        default."""
        return self.sysctls.get("net.ipv4.tcp_no_metrics_save") == "0"

    @property
    def limits_send_buffer(self) -> bool:
        """Whether the largest send buffer is smaller than the one of `modern`, which never limits."""
        most = self.sysctls.get("net.ipv4.tcp_wmem", "").split()
        return len(most) == 3 and int(most[2]) < LARGEST_BUFFER_BYTES


def names() -> list[str]:
    """The names of all profiles, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


class Chosen(Protocol):
    """A scenario's [profile]."""

    name: str
    sysctl: str


def of(chosen: Chosen) -> Profile:
    """The profile with the scenario's own sysctls, which both hosts must take."""
    return _with(chosen.name, chosen.sysctl)


@cache
def _with(name: str, sysctl: str) -> Profile:
    profile, own = load(name), parsed(sysctl)
    if not own:
        return profile
    return replace(
        profile, name=f"{name} + {sysctl}", sysctls=profile.sysctls | own, required=profile.required | own.keys()
    )


def parsed(text: str) -> dict[str, str]:
    """The sysctls of a text such as ``net.ipv4.tcp_wmem=4096 16384 262144; net.ipv4.tcp_ecn=1``; "none" stands for no
    sysctls. ValueError for any other text, and for sysctls that a network namespace does not have of its own."""
    if text == "none":
        return {}
    values: dict[str, str] = {}
    for part in text.split(";"):
        name, _, value = (" ".join(one.split()) for one in part.partition("="))
        if not _NAME.fullmatch(name) or not value:
            said = "" if len(text.split(";")) == 1 else f"'{part.strip()}': "
            raise ValueError(
                f"{said}want NAME=VALUE with a name in net.ipv4, net.ipv6, net.core or net.mptcp, several "
                "of them between semicolons, for example "
                "'net.ipv4.tcp_wmem=4096 16384 262144; net.ipv4.tcp_ecn=1'"
            )
        if name in values:
            raise ValueError(f"'{name}' is given twice; name each sysctl once")
        if name == "net.ipv4.tcp_mem":
            raise ValueError(
                f"'{name}': of the whole machine, not of a host; in virtual time it follows path, windows "
                "and buffers, in real time set it with sysctl"
            )
        if name == "net.ipv4.tcp_congestion_control":
            raise ValueError(f"'{name}': the transfer tool asks for it at its socket; use transfer.congestion")
        values[name] = value
    return values


_NAME = re.compile(r"net\.(ipv4|ipv6|core|mptcp)(\.\w+)+", re.ASCII)


@cache
def load(name: str) -> Profile:
    """A profile by name; UsageError lists the known ones."""
    if name not in names():
        close = difflib.get_close_matches(name, names(), n=1)
        hint = f" — did you mean '{close[0]}'?" if close else ";"
        raise UsageError(f"profile.name = '{name}': unknown{hint} allowed: {', '.join(names())}")
    data = _read(name)
    rto_min, window = data.get("route", {}).get("rto_min"), data.get("window")
    return Profile(
        name=name,
        title=data["title"],
        congestion=data["congestion"],
        sysctls={key: str(value) for key, value in data["sysctl"].items()},
        required=frozenset(data.get("required", [])),
        rto_min_ms=None if rto_min is None else quantity.parse_duration_ns(rto_min) // 10**6,
        window_bytes=None if window is None else quantity.parse_bytes(window),
    )


def _read(name: str) -> dict[str, Any]:
    """A profile's file merged over the one that it extends: tables are merged, other values replaced."""
    data = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    below = _read(data["extends"]) if "extends" in data else {}
    tables = {key: below[key] | value for key, value in data.items() if isinstance(value, dict) and key in below}
    return below | data | tables
