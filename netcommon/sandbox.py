"""Least privilege for a Python process: the sandbox of the C daemons (``src/sandbox/nc_sandbox.h``), by ctypes.

A process enters the sandbox early: before it reads untrusted files, and while it has one thread, because landlock and
the change of the user apply to the calling thread, and numpy starts threads when it is imported. So the files that the
process may still read must include Python's own.
"""

from __future__ import annotations

import ctypes
import json
import os
import pwd
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netcommon import binaries, unprivileged
from netcommon.errors import LfpError

USER = "nobody"  # of what root starts
SEARCH = "dac_read_search"
_ANSWER = 4096
_OPEN, _CLOSED = 0, 1
# Files of the system that libraries read: C libraries and their list, MIME types, time zones, processors, memory.
_MACHINE = (
    "/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types", "/etc/timezone", "/dev/null",
    "/dev/urandom", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/vm", "/proc/filesystems",
    "/sys/devices/system", "/sys/fs/cgroup",
)  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """The options of the command line. ``user``: the user to become (None: "nobody" when root, otherwise no change);
    ``off``: keep everything."""

    user: str | None = None
    off: bool = False

    @property
    def other(self) -> pwd.struct_passwd | None:
        """The user that this process will become, None for no change."""
        if self.off or self.user == "root" or not unprivileged.is_root():
            return None
        try:
            return pwd.getpwnam(self.user or USER)
        except KeyError:
            return None  # the sandbox itself says so


def enter(
    reads: Sequence[Path],
    writes: Sequence[Path],
    choice: Choice,
    *,
    needed: Iterable[Path] = (),
    optional: Sequence[Path] = (),
    private: bool = False,
) -> dict[str, Any]:
    """Confines this process, which must have one thread: changes the user, drops capabilities, enters landlock and
    seccomp. Returns the resulting state. One line on stderr names what the machine lacks. Raises LfpError when it
    cannot become the user.

    The only capability that is ever kept is `SEARCH`: if the user may not read something in ``reads``, ``writes`` or
    ``needed`` (files below them), or if files will be made that others may not read (``private``). `SEARCH` allows
    reading only, and landlock restricts it. ``optional`` paths may be read if the user may read them.
    """
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "threads are running"
    paths = [*reads, *writes, *_of_python()]
    closed = reads[0] if private and choice.other else closed_to(choice.other, [*paths, *needed])
    if closed:
        who = choice.user or USER
        print(f"lfp: sandbox: keeps {SEARCH}, because {who} may not read {closed}", file=sys.stderr, flush=True)
    request = {
        "capabilities": [SEARCH] if closed else [],
        "reads": [str(path) for path in (*paths, *optional, *_MACHINE)],
        "writes": [str(path) for path in writes],
        "user": choice.user,
        "off": choice.off,
    }
    answer = ctypes.create_string_buffer(_ANSWER)
    library = ctypes.CDLL(str(binaries.find_library("lfp-sandbox")))
    status = library.nc_confine(json.dumps(request).encode(), answer, ctypes.c_size_t(_ANSWER))
    text = answer.value.decode(errors="replace")
    if status:
        raise LfpError(text, status)
    state: dict[str, Any] = json.loads(text)
    return state


def closed_to(user: pwd.struct_passwd | None, paths: Iterable[Path]) -> Path | None:
    """The first of these paths that a user may not read, None if there is none. A child process becomes the user and
    tries it."""
    if user is None:
        return None
    existing = [path for path in paths if path.exists()]
    rights = [os.R_OK | os.X_OK if path.is_dir() else os.R_OK for path in existing]
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(user.pw_gid, user.pw_gid, user.pw_gid)
            os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
            os._exit(_OPEN if all(map(os.access, existing, rights)) else _CLOSED)
        except BaseException:
            os._exit(_OPEN)  # setuid failed; the sandbox will fail in the same way and report it
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == _OPEN:
        return None
    return existing[0] if len(existing) == 1 else next(path for path in existing if closed_to(user, [path]))


def _of_python() -> list[Path]:
    """The folders that hold this interpreter's modules and those of this project."""
    own = [file.parent for file in binaries.CHECKOUT.glob("*/__init__.py")]
    found = [Path(sys.prefix), Path(sys.base_prefix), *(Path(entry) for entry in sys.path if entry), *own]
    return list(dict.fromkeys(path.resolve() for path in found if path.exists()))
