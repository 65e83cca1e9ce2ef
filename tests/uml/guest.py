"""A command inside user-mode Linux: another kernel, on this machine's own files, booted in a second or two.

It is used for features that this kernel lacks (``sch_netem``). The guest's root is the machine's root file system,
read-only through hostfs, so the guest has the checkout, the Python environment and the C tools. It may write to /run
(tmpfs) and to the folder ``Result.share`` (hostfs), which returns output and status. The guest is in a process
namespace that ends with this process, however it ends. Rejected: a disk image, which would have to be built and kept up
to date.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

BOOTS = 3
KERNEL, MODULES = Path("/usr/bin/linux.uml"), Path("/usr/lib/uml/modules")

# modprobe wants DIR/lib/modules; many machines have no /lib/modules to mount over.
INIT = """#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/run
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /run
mkdir -p /run/share /run/tmp /run/modules/lib
off() {{ echo o >/proc/sysrq-trigger; while :; do sleep 1; done; }}
for try in 1 2 3 4 5 6 7 8 9 10; do
    mount -t hostfs -o {share} none /run/share && : >/run/share/booted && break
    sleep 0.2
done
[ -e /run/share/booted ] || {{ echo "cannot mount {share}"; off; }}
ln -s {modules} /run/modules/lib/modules
for module in {load}; do
    modprobe -d /run/modules $module || echo "cannot load $module" >>/run/share/output
done
ip link set lo up
cd {folder}
{command} >>/run/share/output 2>&1 </dev/null
echo $? >/run/share/status
sync
umount /run/share
off
"""


@dataclass(frozen=True)
class Result:
    """What came back: exit status (None: it never ended), stdout and stderr together, and the kernel's console."""

    status: int | None
    output: str
    console: str


def missing() -> str | None:
    """Why no guest can run here, or None."""
    for path, package in ((KERNEL, "user-mode-linux"), (MODULES, "user-mode-linux")):
        if not path.exists():
            return f"{path} is missing; install {package}"
    return None if shutil.which("modprobe", path=f"{os.environ['PATH']}:/sbin:/usr/sbin") else "modprobe: install kmod"


def run(
    argv: Sequence[str | Path],
    *,
    modules: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    memory: str = "512M",
    timeout_s: float = 60,
) -> Result:
    """Boots a guest, loads `modules`, runs a command in `folder` as root, shuts down. Does not raise when it fails.

    A guest that did not get as far as the command is booted again, up to `BOOTS` times in all, because booting is not
    what is tested.
    """
    for left in reversed(range(BOOTS)):
        result, booted = _boot(argv, modules, environment or {}, folder or Path.cwd(), memory, timeout_s)
        if booted or not left:
            break
    return result


def _boot(
    argv: Sequence[str | Path],
    modules: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    memory: str,
    timeout_s: float,
) -> tuple[Result, bool]:
    """Runs one guest to its end; returns its result, and whether the guest got as far as the command."""
    with tempfile.TemporaryDirectory(prefix="uml-guest-") as share:
        init = Path(share, "init")
        variables = {"PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": "/run/tmp"} | dict(environment)
        words = ["env", *(f"{name}={value}" for name, value in variables.items()), *map(str, argv)]
        text = INIT.format(
            share=shlex.quote(share),
            modules=MODULES,
            load=" ".join(modules),
            command=shlex.join(words),
            folder=shlex.quote(str(folder)),
        )
        init.write_text(text)
        init.chmod(0o755)
        # a guest has many processes; they end with a process namespace, not with the guest's first process
        boot = ["setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child=KILL"]
        boot += [str(KERNEL), f"mem={memory}", f"uml_dir={share}/uml", "quiet", "con=null", "con0=null,fd:1"]
        boot += ["ro", "root=none", "rootfstype=hostfs", "rootflags=/", f"init={init}"]
        console = _bounded(boot, {"TMPDIR": _scratch()}, timeout_s)
        output, status = Path(share, "output"), Path(share, "status")
        result = Result(
            int(status.read_text()) if status.exists() else None,
            output.read_text(errors="replace") if output.exists() else "",
            console,
        )
        return result, Path(share, "booted").exists()


def _scratch() -> str:
    """Where the guest's memory is mapped: a tmpfs if there is one, which saves writing it to a disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()


def _bounded(argv: Sequence[str], environment: Mapping[str, str], timeout_s: float) -> str:
    """stdout and stderr of a process group of its own, which is ended when it takes too long."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(os.environ) | dict(environment),
        start_new_session=True,
    )
    try:
        text, _ = process.communicate(timeout=timeout_s)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        text, _ = process.communicate()
        _wait_for_group(process.pid)
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
    return text.decode(errors="replace")


def _wait_for_group(group: int, timeout_s: float = 5) -> None:
    """Waits until the last process of a killed group is gone; the leader is reaped first."""
    deadline = time.monotonic() + timeout_s
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < deadline:
            os.killpg(group, 0)
            time.sleep(0.01)
