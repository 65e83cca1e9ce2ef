"""User namespaces, in which an ordinary user can build networks, and the machine's settings that may forbid them.

`enter` starts the command again inside a user, network and mount namespace (unshare(1)). The user is root there, but
only over those namespaces. Files stay the user's, process ids stay as they are, and the namespaces end with the
command. The command has to start again because the kernel gives a user namespace only to a process with one thread, and
threads of a library may run before we know that we need a namespace. So the code that discovers the need raises
`Outside`, and the program's ``main`` calls `enter`. Until then the program must not have made anything.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

TUN = Path("/dev/net/tun")
LOST = "real-time priority, congestion controls as BPF, interfaces of the machine"
_UNSHARE = ("unshare", "--user", "--map-root-user", "--net", "--mount", "--")
# The mount makes /sys/class/net show the interfaces of this network. Mininet makes the same mount for every host.
_SET_UP = ("sh", "-c", 'mount -t sysfs sysfs /sys && ip link set lo up && exec "$@"', "sh")
# Settings that forbid user namespaces: name, forbidding value, allowing value. A setting that a kernel lacks forbids
# nothing.
_KNOBS = (
    ("user.max_user_namespaces", "0", "10000"),
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
)
_PROBE_S = 10.0


@dataclass(frozen=True)
class Obstacle:
    """The setting that forbids user namespaces on this machine, and what root can do about it (empty when unknown)."""

    what: str
    remedy: str


class Outside(Exception):
    """The command needs namespaces of its own, and the machine allows them. `main` calls `enter` to start it again."""


def is_root() -> bool:
    """Whether this process is root of the machine or container, and not only of namespaces of our own."""
    return os.geteuid() == 0 and not is_inside()


def is_inside() -> bool:
    """Whether this process is in a user namespace with one user, such as `enter` makes."""
    return os.geteuid() == 0 and _mapping()[2] == 1


def user() -> int:
    """The user id outside such a namespace, which owns the files that this process writes."""
    return _mapping()[1] if is_inside() else os.geteuid()


def _mapping() -> tuple[int, int, int]:
    """The first row of the user namespace's map: id inside, id outside, number of ids. A kernel without user namespaces
    has no such map; then all ids are the same inside and outside."""
    try:
        inside, outside, count, *_ = map(int, Path("/proc/self/uid_map").read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return 0, 0, 2**32
    return inside, outside, count


def obstacle() -> Obstacle | None:
    """Why an ordinary user cannot build networks here, or None. It tries this with a short-lived process."""
    if not TUN.exists():
        return Obstacle(f"{TUN} is missing", "modprobe tun")
    if not os.access(TUN, os.R_OK | os.W_OK):
        return Obstacle(f"{TUN} may not be opened (mode {TUN.stat().st_mode & 0o777:04o})", f"chmod 666 {TUN}")
    if not shutil.which(_UNSHARE[0]):
        return Obstacle("program unshare: not found", "apt-get install util-linux")
    done = subprocess.run(
        [*_UNSHARE, *_SET_UP, "true"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PROBE_S
    )
    if done.returncode == 0:
        return None
    for name, forbids, allows in _KNOBS:
        if _sysctl(name) == forbids:
            return Obstacle(f"{name} = {forbids} forbids user namespaces", f"sysctl -w {name}={allows}")
    said = (done.stderr.strip().splitlines() or ["no reason given"])[0]
    return Obstacle(f"this machine does not allow a user namespace with its own network ({said})", "")


def inside(argv: list[str]) -> list[str]:
    """The command line that runs ``argv`` in namespaces of its own. Use it only where `obstacle` finds none."""
    return [*_UNSHARE, *_SET_UP, *argv]


def enter(argv: list[str]) -> NoReturn:
    """Replaces this process by ``argv`` in namespaces of its own. OSError when unshare(1) cannot be started."""
    print(f"lfp: not root: runs in its own namespaces, without {LOST}", file=sys.stderr, flush=True)
    sys.stdout.flush()
    command = inside(argv)
    os.execvp(command[0], command)


def own_command_line() -> list[str]:
    """The command line that started this Python program."""
    return [sys.executable, *sys.orig_argv[1:]]


def _sysctl(name: str) -> str | None:
    try:
        return Path("/proc/sys", name.replace(".", "/")).read_text(encoding="ascii").strip()
    except OSError:
        return None
