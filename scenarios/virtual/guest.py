"""One guest from the host's side: start, watch, end. It dies with us, however we die.

A guest is many processes (the kernel and a traced one for each of its address spaces), and the first does not take the
others along; so it lives in a process namespace of its own, whose end is the end of all of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netcommon import binaries
from netcommon.binaries import CHECKOUT
from netcommon.errors import EXIT_FAILED, LfpError, MissingError
from scenarios.virtual import init, kernel, memory

HANG_S = 60.0  # processor time without virtual progress; start-up, all of it without progress, takes two
STUCK = 5  # times as much wall time without progress, and nothing runs
_LOOK_S = 0.5  # between two looks at how long a guest has worked whose clock stands
CLOCK_START_NS = 1_767_225_600 * 10**9  # 2026-01-01, in every guest


@dataclass
class _Progress:
    """When the guest's clock last went on: where to, when, how long the guest had worked; and when we looked."""

    clock_ns: int
    since_s: float
    busy_s: float
    looked_s: float


@dataclass(frozen=True)
class Result:
    """What came back of a program: exit status, stdout and stderr together, the guest's clock at the end."""

    status: int
    output: str
    virtual_s: float


class Guest:
    """A booted guest with its one job. Context manager; leaving it ends the guest and removes its working folder."""

    def __init__(self, kernel: Path, share: Path, memory_bytes: int, seed: int, job: Mapping[str, Any]) -> None:
        self.share, self.console = share, share / "console.txt"
        self._argv = [str(kernel), *_arguments(share, memory_bytes, seed)]
        self._job = {"environment": _environment()} | dict(job)
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = ""
        self._progress = _Progress(0, 0.0, 0.0, 0.0)

    def __enter__(self) -> Guest:
        self._folder = tempfile.mkdtemp(prefix="lfp-guest-")
        (self.share / init.JOB).write_bytes(pickle.dumps(self._job))
        (self.share / init.CLOCK).touch()
        os.utime(self.share / init.CLOCK, ns=(0, 0))
        bound = ["setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child=KILL"]
        # not as its process 1, which no signal ends: a panic ends by one that the kernel sends itself
        bound += ["sh", "-c", '"$@"; exit $?', "sh"]
        environment = dict(os.environ) | {"TMPDIR": str(memory.scratch()), "HOME": self._folder}
        with self.console.open("wb") as console:
            self._process = subprocess.Popen(
                [*bound, *self._argv[:1], f"uml_dir={self._folder}", *self._argv[1:]],
                stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT, env=environment, process_group=0,
            )  # fmt: skip
        began = time.monotonic()
        self._progress = _Progress(0, began, 0.0, began)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def pid(self) -> int:
        """Process id of what is started; valid once entered."""
        assert self._process
        return self._process.pid

    def virtual_s(self) -> float:
        """The guest's clock since its first second."""
        with contextlib.suppress(OSError):
            return (self.share / init.CLOCK).stat().st_mtime_ns / 1e9
        return 0.0

    def ended(self) -> bool:
        """True once the guest is off. LfpError when it stands still."""
        assert self._process
        if self._process.poll() is not None:
            return True
        now, wall, last = int(self.virtual_s() * 1e9), time.monotonic(), self._progress
        if now == last.clock_ns and wall - last.looked_s < _LOOK_S:
            return False
        busy_s = processor_s(self._process.pid)
        if now != last.clock_ns:
            self._progress = _Progress(now, wall, busy_s, wall)
            return False
        last.looked_s = wall
        if busy_s - last.busy_s > HANG_S or wall - last.since_s > STUCK * HANG_S:
            raise LfpError(
                f"the guest hangs: its clock has stood at {now / 1e9:.0f} s for {wall - last.since_s:.0f} s, "
                f"{busy_s - last.busy_s:.0f} s of which it worked; something in it spins, or it is out of memory "
                "(see console.txt)"
            )
        return False

    def unwritten(self) -> bool:
        """Whether something that the guest wrote did not get to the disk; once it has ended."""
        return (self.share / init.UNWRITTEN).exists()

    def check(self) -> None:
        """LfpError with the reason of a guest that is off without having done its job; the tool's own status."""
        with contextlib.suppress(OSError, ValueError):
            said = json.loads((self.share / init.ERROR).read_text(encoding="utf-8"))
            raise LfpError(str(said["message"]), int(said["status"]))
        if why := _last_words(self.console):
            raise LfpError(why, EXIT_FAILED)


def processor_s(pid: int) -> float:
    """Processor time of a process and all that came of it, so far; 0 for what is no more."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # with that of children that have been waited for
        return own + sum(processor_s(int(child)) for child in children)
    return 0.0


def run(
    argv: list[str], *, folder: Path, memory_bytes: int = memory.BASE_BYTES, seed: int = 1, timeout_s: float = 60,
    environment: Mapping[str, str] | None = None,
) -> Result:  # fmt: skip
    """Runs a program in a guest of its own. LfpError when the guest fails or takes longer than this."""
    with tempfile.TemporaryDirectory(prefix="lfp-share-") as share:
        job = {"command": argv, "folder": str(folder), "environment": _environment() | dict(environment or {})}
        with Guest(kernel.require(), Path(share), memory_bytes, seed, job) as guest:
            deadline = time.monotonic() + timeout_s
            while not guest.ended():
                if time.monotonic() > deadline:
                    said = f"its clock came to {guest.virtual_s():.0f} s"
                    raise LfpError(f"the guest takes longer than {timeout_s:.0f} s, {said}: {' '.join(argv)}")
                time.sleep(0.02)
            guest.check()
            text = guest.console.read_text(encoding="utf-8", errors="replace")
            output, status = Path(share, init.OUTPUT), Path(share, init.STATUS)
            if not status.exists():
                raise LfpError(f"the guest ended before the program did: {text.strip().splitlines()[-1:]}")
            said = output.read_text(encoding="utf-8", errors="replace")
            return Result(int(status.read_text(encoding="ascii")), said, guest.virtual_s())


def _arguments(share: Path, memory_bytes: int, seed: int) -> list[str]:
    """Kernel parameters; NAME=VALUE that the kernel does not know is the environment of process 1."""
    python_path = f"{CHECKOUT}:{sysconfig.get_path('purelib')}"
    return [
        f"mem={memory_bytes // 2**20}M", "time-travel=inf-cpu", f"time-travel-start={CLOCK_START_NS}",
        f"random-seed={seed}", "seccomp=auto", "con=null", "con0=null,fd:1", "quiet", "panic=-1",
        "ro", "root=none", "rootfstype=hostfs", "rootflags=/", f"init={os.path.realpath(sys.executable)}",
        f"PYTHONPATH={python_path}", "PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0", "PYTHONUNBUFFERED=1",
        "TMPDIR=/run/tmp", "LC_ALL=C.UTF-8", f"PATH={_path()}",
        "--", "-S", "-m", init.__name__, str(share.resolve()),
    ]  # fmt: skip


def _path() -> str:
    own = os.environ.get("PATH", "")
    return f"{own}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def _environment() -> dict[str, str]:
    """What of ours the tools inside heed, and where they are: the search would not find all places from inside."""
    found = {name: value for name, value in os.environ.items() if name.startswith("LFP_")}
    for tool in ("comet-delay", "rttcp", "pktlogger", "lft-gateway"):
        with contextlib.suppress(MissingError):
            found[binaries.override_variable(tool)] = str(binaries.find(tool).resolve())
    return found


def _last_words(console: Path) -> str | None:
    """Why the kernel ended, from its console."""
    text = console.read_text(encoding="utf-8", errors="replace") if console.exists() else ""
    for pattern, what in (
        (r"Kernel panic - not syncing: (.*)", "the guest panicked: "),
        (r"Out of memory: (.*)", "the guest ran out of memory: "),
    ):
        if found := re.search(pattern, text):
            return what + found[1].strip()
    return None
