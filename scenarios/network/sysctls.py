"""Sysctls of a network namespace: writing a TCP profile, and reading back what the kernel took.

A setting that the kernel does not know is reported, and it is an error when the profile lists it as required.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from netcommon import netns, unprivileged
from netcommon.errors import MissingError
from scenarios.plan.profiles import LARGEST_BUFFER_BYTES, Profile

_TRIED = 256  # most sysctls whose values the kernel bounds have one octet
# The same values as in rttcp/src/transfer/window.c.
_BYTES_A_WINDOW, _RECEIVER_LEAST_BYTES, _SENDER_SLACK_BYTES = 4, 256 * 2**10, 2**20


def sysctl_path(name: str) -> Path:
    """The file of a sysctl."""
    return Path("/proc/sys") / name.replace(".", "/")


def unknown_sysctls(profile: Profile) -> list[str]:
    """Settings of the profile that this kernel lacks. A network namespace sees the same names as the host."""
    return sorted(name for name in profile.sysctls if not sysctl_path(name).exists())


def write_sysctls(values: dict[str, str]) -> dict[str, str]:
    """Writes sysctls in the caller's network namespace. Returns the values read back, of those sysctls that exist.

    A value that the kernel refuses is not an error here; the values read back show it. For example, kernels refuse a
    namespace's congestion control when the host does not allow that control to everyone.
    """
    back = {}
    for name, value in values.items():
        path = sysctl_path(name)
        if path.exists():
            with contextlib.suppress(OSError):
                path.write_text(value, encoding="ascii")
            back[name] = _value(path)
    return back


def refused(profile: Profile, back: dict[str, str]) -> list[str]:
    """A phrase for each setting that this kernel knows but refused: the trial did not fully use this profile.

    The default congestion control is left out: kernels refuse it, and the transfer tool asks for it at its socket.
    """
    return [
        f"{name} is {back[name]}, not {wanted}"
        for name, wanted in profile.sysctls.items()
        if name in back and back[name] != wanted and name != "net.ipv4.tcp_congestion_control"
    ]


def untaken(wanted: dict[str, str]) -> dict[str, str]:
    """The sysctls that exist but refuse the value in ``wanted``, each with the values that this kernel takes, in words.
    They are tried in a temporary network namespace. OSError if this user may not have one."""

    def tried() -> dict[str, str]:
        back = write_sysctls(wanted)
        return {name: _allowed(name) for name, value in back.items() if value != wanted[name]}

    return netns.call_in_new(tried)


def _allowed(name: str) -> str:
    """The range of small whole numbers that the kernel takes in the caller's namespace; its present value if it takes
    none."""
    taken = [value for value in range(_TRIED) if write_sysctls({name: str(value)})[name] == str(value)]
    return f"{taken[0]} to {taken[-1]}" if taken else f"no number below {_TRIED}; it is {_value(sysctl_path(name))}"


def first_buffers(window_bytes: int) -> dict[str, str]:
    """Sysctls that make sockets begin with the buffers that rttcp wants for a window (rttcp/src/transfer/window.c).

    An ordinary user's namespaces do not let rttcp set buffers beyond net.core.rmem_max and wmem_max, which belong to
    the machine. There the namespace's sysctls provide such buffers. As root, and below those limits, the result is
    empty: rttcp sets what it wants.
    """
    wanted = {
        "r": max(_BYTES_A_WINDOW * window_bytes, _RECEIVER_LEAST_BYTES),
        "w": _BYTES_A_WINDOW * window_bytes + _SENDER_SLACK_BYTES,
    }
    if not unprivileged.is_inside():
        return {}
    return {
        f"net.ipv4.tcp_{which}mem": f"4096 {size} {max(size, LARGEST_BUFFER_BYTES)}"
        for which, size in wanted.items()
        if size > 2 * _buffer_limit(f"net.core.{which}mem_max")
    }


def _buffer_limit(name: str) -> int:
    """The machine's limit; 0 where a namespace does not see it, as on older kernels."""
    path = sysctl_path(name)
    return int(path.read_text(encoding="ascii")) if path.exists() else 0


def read_sysctls(names: Iterable[str]) -> dict[str, str]:
    """The values in the caller's network namespace, of those sysctls that exist."""
    paths = {name: sysctl_path(name) for name in names}
    return {name: _value(path) for name, path in paths.items() if path.exists()}


def _value(path: Path) -> str:
    return " ".join(path.read_text(encoding="ascii").split())


def apply(profile: Profile, pid: int, first: dict[str, str] | None = None) -> dict[str, str]:
    """Writes the profile into the namespace of ``pid``; returns the values read back. MissingError when a required one
    fails. ``first``: what the namespace had before any profile was written into it. It is filled here. Sysctls that
    this profile does not set are restored to these values, so that no setting of a trial carries over to the next."""
    left = {}
    if first is not None:
        first |= netns.call_in(pid, read_sysctls, profile.sysctls.keys() - first.keys())
        left = {name: value for name, value in first.items() if name not in profile.sysctls}
    back = netns.call_in(pid, write_sysctls, left | profile.sysctls)
    back = {name: value for name, value in back.items() if name in profile.sysctls}
    for name, wanted in profile.sysctls.items():
        if name in profile.required and back.get(name) != wanted:
            found = f"reads back as {back[name]}" if name in back else "does not exist on this kernel"
            raise MissingError(f"profile {profile.name}: needs {name} = {wanted}, which {found}")
    return back
