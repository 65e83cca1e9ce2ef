"""TCP profiles: named sets of per-namespace sysctls and route options, data in ``profiles/*.toml``.

Every setting is written explicitly, so that the host's defaults do not matter, and read back. What a kernel does not
know is reported, and refused when the profile lists it as required.
"""

from __future__ import annotations

import contextlib
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from netcommon import netns, quantity
from netcommon.errors import MissingError, UsageError

FOLDER = Path(__file__).resolve().parent / "profiles"


@dataclass(frozen=True)
class Profile:
    """``sysctls`` as text by full name; ``required`` those it is meaningless without; ``rto_min_ms`` of the routes;
    ``window_bytes`` the TCP window that programs of its time had unless they asked for another (None: the kernel's).
    """

    name: str
    title: str
    congestion: str
    sysctls: dict[str, str]
    required: frozenset[str]
    rto_min_ms: int | None
    window_bytes: int | None


def names() -> list[str]:
    """Every profile there is."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


@cache
def load(name: str) -> Profile:
    """A profile by name; UsageError lists the known ones."""
    if name not in names():
        raise UsageError(f"profile.name = '{name}': unknown; allowed: {', '.join(names())}")
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
    """A profile's file over the one that it extends: tables are merged, other values replaced."""
    data = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    below = _read(data["extends"]) if "extends" in data else {}
    tables = {key: below[key] | value for key, value in data.items() if isinstance(value, dict) and key in below}
    return below | data | tables


def sysctl_path(name: str) -> Path:
    """The file of a sysctl."""
    return Path("/proc/sys") / name.replace(".", "/")


def unknown_sysctls(profile: Profile) -> list[str]:
    """Settings of the profile that this kernel lacks. A network namespace sees the same names as the host."""
    return sorted(name for name in profile.sysctls if not sysctl_path(name).exists())


def write_sysctls(values: dict[str, str]) -> dict[str, str]:
    """Writes sysctls in the caller's network namespace; what reads back, of those that exist. A refused value shows in
    that: kernels refuse, for one, a namespace's congestion control that the host does not allow to everyone."""
    back = {}
    for name, value in values.items():
        path = sysctl_path(name)
        if path.exists():
            with contextlib.suppress(OSError):
                path.write_text(value, encoding="ascii")
            back[name] = " ".join(path.read_text(encoding="ascii").split())
    return back


def apply(profile: Profile, pid: int) -> dict[str, str]:
    """Puts the profile into the namespace of ``pid``; values as read back. MissingError when a required one fails."""
    back = netns.call_in(pid, write_sysctls, profile.sysctls)
    for name, wanted in profile.sysctls.items():
        if name in profile.required and back.get(name) != wanted:
            found = f"reads back as {back[name]}" if name in back else "does not exist on this kernel"
            raise MissingError(f"profile {profile.name}: needs {name} = {wanted}, which {found}")
    return back
