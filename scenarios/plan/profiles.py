"""TCP profiles: named sets of per-namespace sysctls and route options, data in ``profiles/*.toml``. A scenario may add
sysctls of its own.

Every setting is written out, so that the host's defaults do not matter. ``network/sysctls.py`` writes a profile into a
namespace and reads it back.
"""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netcommon import quantity
from netcommon.errors import UsageError
from scenarios.plan import own_sysctls

if TYPE_CHECKING:
    from scenarios.plan.model import Scenario

FOLDER = Path(__file__).resolve().parents[1] / "profiles"


@dataclass(frozen=True)
class Profile:
    """``sysctls``: values as text by full name; ``required``: those without which the profile is meaningless;
    ``rto_min_ms``: of the routes; ``window_bytes``: the TCP window that programs of its time had unless they asked for
    another (None: the kernel sizes it)."""

    name: str
    title: str
    congestion: str
    sysctls: dict[str, str]
    required: frozenset[str]
    rto_min_ms: int | None
    window_bytes: int | None


def names() -> list[str]:
    """The names of all profiles, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def of(setting: Scenario) -> Profile:
    """The profile of a setting, with the setting's own sysctls: both hosts must take those."""
    return _with(setting.profile.name, setting.profile.sysctl)


@cache
def _with(name: str, sysctl: str) -> Profile:
    profile, own = load(name), own_sysctls.parsed(sysctl)
    if not own:
        return profile
    return replace(
        profile, name=f"{name} + {sysctl}", sysctls=profile.sysctls | own, required=profile.required | own.keys()
    )


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
