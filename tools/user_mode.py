"""try-kernel's other kernel where nothing boots Debian's: user-mode Linux, which is a program like any other.

It is the guests' own source, compiled once more with what guests need of their host (user-mode-host.patch). It runs
without virtual time, as an ordinary kernel between the guests and this machine's. It has its own processes, memory,
file systems and clock, and one processor, which is a thread of this machine. Rejected: Debian's user-mode-linux, in
which no guest starts, because its seccomp reports a wrong address for each call. Rejected: gVisor. A guest's kernel
must know whether a fault was of reading or of writing, and gVisor does not tell.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

PATCH = Path(__file__).with_name("user-mode-host.patch")
OPTIONS = ("CONFIG_SECCOMP=y", "CONFIG_SECCOMP_FILTER=y")
POWER_OFF = 0x4321FEDC  # reboot(2)
TEMPORARY = "/run/tmp"  # a folder that the shell's command can write to
_BUILD = "import os, sys; from pathlib import Path; from scenarios.virtual import kernel; " + (
    "kernel.compiled(Path(sys.argv[1]), os.cpu_count() or 1, [Path(sys.argv[2])], sys.argv[3:])"
)


def build_command(folder: Path) -> list[str]:
    """The command that compiles the kernel, which is then at `image(folder)`."""
    return [sys.executable, "-c", _BUILD, str(folder), str(PATCH), *OPTIONS]


def image(folder: Path) -> Path:
    return folder / "linux" / "linux"


def init(out: Path, shared: str, command: str) -> str:
    """Process 1. This machine's files are the root, read-only, and `out` is writable under the name `shared`. The
    shell's `command` leaves its status in `out`."""
    return f"""#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mountpoint -q /dev || mount -t devtmpfs dev /dev
ln -s /proc/self/fd /dev/fd
mkdir -p /dev/pts /dev/shm
mount -t devpts -o mode=620,ptmxmode=666 pts /dev/pts
mount -t tmpfs -o mode=1777,size=75% shm /dev/shm
mount -t tmpfs -o mode=1777 run /run
mkdir {shared}
mkdir -m 1777 {TEMPORARY}
mount -t hostfs -o {shlex.quote(str(out))} out {shared}
ip link set lo up
uname -r >{shared}/kernel
sh -ec {shlex.quote(command)}
echo $? >{shared}/status
sync
exec {shlex.quote(sys.executable)} -c 'import ctypes; ctypes.CDLL(None).reboot({POWER_OFF})'
"""


def machine(image: Path, process_one: Path, memory_mb: int) -> list[str]:
    """The command that boots the kernel with the script `process_one`."""
    return [
        "setpriv",
        "--pdeathsig",
        "KILL",
        str(image),
        f"mem={memory_mb}M",
        "seccomp=on",
        "con=null",
        "con0=null,fd:1",
        "root=none",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        "quiet",
        "panic=-1",
        f"init={os.path.realpath(process_one)}",
    ]
