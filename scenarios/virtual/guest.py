"""One guest, as the host starts it, watches it and ends it. The guest dies with this process, however that ends.

A guest is many processes (the kernel, and a traced process for each of its address spaces), and the others survive when
the first one dies. So a guest lives in a process namespace of its own, whose end is the end of all of them.
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
from functools import cache
from pathlib import Path
from typing import Any

from netcommon import binaries
from netcommon.binaries import CHECKOUT
from netcommon.errors import EXIT_FAILED, LfpError, MissingError
from scenarios.plan import gateway_commands
from scenarios.virtual import init, memory
from scenarios.virtual.processor import Claim

HANG_S = 60.0  # a guest hangs after this much CPU time without virtual progress; starting up takes two seconds of it
STUCK = 5  # a guest in which nothing runs hangs after this many times HANG_S of wall time
# A program that computes for longer than this without waiting makes the clock move. Python's start takes 0.3 s of it.
BUDGET_MS = 3000
_LOOK_S = 0.5  # time between two checks of the CPU time of a guest whose clock does not advance
_AWAY_S = 10.0  # a longer gap means that this process was suspended (Ctrl-Z), and probably the guest, too
_COMPUTES = re.compile(r"time-travel: (.+) computes without waiting")  # patches/7/spinning.patch
CLOCK_START_NS = 1_767_225_600 * 10**9  # 2026-01-01, in every guest


@dataclass
class _Progress:
    """The last advance of the guest's clock: to which time, when, and how much CPU time the guest had used by then; and
    when we last looked."""

    clock_ns: int
    since_s: float
    busy_s: float
    looked_s: float


class Guest:
    """A guest with its one job. A context manager; leaving it ends the guest and removes the guest's working folder.

    The folder is there before the guest runs, so that the ledger can name it first, should this process be killed.
    ``record``: the file that gets the record of who ran when (`schedule`), from the job's beginning on. ``waits``: the
    file that gets the records of TCP senders' waits (`waits`). ``alone``: the caller starts no other guest at the same
    time, so it may use two processors (`processor`). ``end_fd``, once entered: a file that can be read when the guest
    is off."""

    def __init__(
        self,
        kernel: Path,
        share: Path,
        memory_bytes: int,
        seed: int,
        job: Mapping[str, Any],
        record: Path | None = None,
        *,
        alone: bool = False,
        waits: Path | None = None,
    ) -> None:
        self.share, self.console, self._alone = share, share / "console.txt", alone
        self._written = {name: file for name, file in (("record-fd", record), ("waits-fd", waits)) if file}
        self._argv = [str(kernel), *_arguments(share, memory_bytes, seed)]
        self._job = {"environment": environment_of_tools(), "recorded": record is not None} | dict(job)
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = tempfile.mkdtemp(prefix="lfp-guest-")
        self._processor: Claim | None = None
        self.end_fd = -1
        self._progress = _Progress(0, 0.0, 0.0, 0.0)

    def __enter__(self) -> Guest:
        (self.share / init.JOB).write_bytes(pickle.dumps(self._job))
        (self.share / init.CLOCK).touch()
        os.utime(self.share / init.CLOCK, ns=(0, 0))
        self._processor = Claim(alone=self._alone)
        processor = ["taskset", "--cpu-list", str(self._processor.number)]
        bound = ["setpriv", "--pdeathsig", "KILL", *processor, *_process_namespace()]
        environment = dict(os.environ) | {"TMPDIR": str(memory.scratch()), "HOME": self._folder}
        with contextlib.ExitStack() as files:
            console = files.enter_context(self.console.open("wb"))
            output = files.enter_context((self.share / init.OUTPUT).open("wb")).fileno()
            own, passed = [f"uml_dir={self._folder}", f"con1=null,fd:{output}"], [output]
            if self._processor.programs is not None:
                own.append(f"programs-processor={self._processor.programs}")
            for name, file in self._written.items():
                passed.append(files.enter_context(file.open("wb")).fileno())
                own.append(f"{name}={passed[-1]}")
            self._process = subprocess.Popen(
                [*bound, *self._argv[:1], *own, *self._argv[1:]],
                pass_fds=passed,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                env=environment,
                process_group=0,
            )
        self.end_fd = os.pidfd_open(self._process.pid)
        began = time.monotonic()
        self._progress = _Progress(0, began, 0.0, began)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process and self._processor
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self.end_fd >= 0:
            os.close(self.end_fd)
        self.end_fd = -1
        self._processor.__exit__()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def pid(self) -> int:
        """The id of the process that was started; valid once entered."""
        assert self._process
        return self._process.pid

    @property
    def folder(self) -> Path:
        """The kernel's own working folder."""
        return Path(self._folder)

    def virtual_s(self) -> float:
        """The guest's clock, in seconds since its start."""
        with contextlib.suppress(OSError):
            return (self.share / init.CLOCK).stat().st_mtime_ns / 1e9
        return 0.0

    def ended(self) -> bool:
        """Whether the guest is off. LfpError when its clock has stopped."""
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
        away_s = wall - last.looked_s
        last.since_s += away_s if away_s > _AWAY_S else 0
        last.looked_s = wall
        if busy_s - last.busy_s > HANG_S or wall - last.since_s > STUCK * HANG_S:
            raise LfpError(
                f"the guest hangs: its clock has stood at {round(now / 1e9)} s for {round(wall - last.since_s)} s, "
                f"in which it used {round(busy_s - last.busy_s)} s of CPU time; it may be out of memory "
                "(see console.txt)"
            )
        return False

    def unwritten(self) -> bool:
        """Whether some of the guest's data did not reach the disk; valid once the guest has ended."""
        return (self.share / init.UNWRITTEN).exists()

    def computed(self) -> list[str]:
        """The programs so far that computed for longer than the budget without waiting, each once."""
        return list(dict.fromkeys(_COMPUTES.findall(self.said())))

    def said(self) -> str:
        """The output of the guest's kernel and process 1 so far."""
        return self.console.read_text(encoding="utf-8", errors="replace") if self.console.exists() else ""

    def check(self) -> None:
        """LfpError, with the reason and the tool's own status, if the guest is off without having done its job."""
        with contextlib.suppress(OSError, ValueError):
            said = json.loads((self.share / init.ERROR).read_text(encoding="utf-8"))
            raise LfpError(str(said["message"]), int(said["status"]))
        if why := _last_words(self.said()):
            raise LfpError(why, EXIT_FAILED)


def processor_s(pid: int) -> float:
    """CPU time so far of a process and all its descendants; 0 for a process that no longer exists."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # waited-for children included
        return own + sum(processor_s(int(child)) for child in children)
    return 0.0


@cache
def _process_namespace() -> list[str]:
    """The command that starts a guest in a process namespace. An ordinary user gets a process namespace together with a
    user namespace. Where the machine forbids those, a guest has neither: its processes are in one group, and die with
    their parents."""
    unshare = ["unshare", "--pid", "--fork", "--kill-child=KILL"]
    if os.geteuid() != 0:
        unshare += ["--user", "--map-current-user"]
        if subprocess.run([*unshare, "true"], stdin=subprocess.DEVNULL, capture_output=True).returncode:
            return []
    # The guest is not the namespace's process 1, which no signal ends: a panic ends by a signal that the kernel sends
    # itself.
    return [*unshare, "sh", "-c", '"$@"; exit $?', "sh"]


def _arguments(share: Path, memory_bytes: int, seed: int) -> list[str]:
    """Kernel parameters. A NAME=VALUE that the kernel does not know becomes the environment of process 1."""
    python_path = f"{CHECKOUT}:{sysconfig.get_path('purelib')}"
    words = [
        f"mem={memory_bytes // 2**20}M", "time-travel=inf-cpu", f"time-travel-start={CLOCK_START_NS}",
        f"computing-budget={BUDGET_MS}", f"random-seed={seed}", "seccomp=auto", "con=null", "con0=null,fd:1",
        "quiet", "panic=-1", "ro", "root=none", "rootfstype=hostfs", "rootflags=/",
        f"init={os.path.realpath(sys.executable)}",
        f"PYTHONPATH={python_path}", "PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0", "PYTHONUNBUFFERED=1",
        "TMPDIR=/run/tmp", f"HOME={init.HOME}", "LC_ALL=C.UTF-8", f"PATH={_path()}",
        "--", "-S", "-m", init.__name__, str(share.resolve()),
    ]  # fmt: skip
    return [_quoted(word) for word in words]


def _quoted(word: str) -> str:
    """A word of the kernel's command line, quoted if necessary: spaces separate words unless they are inside quotation
    marks."""
    name, equals, value = word.partition("=")
    return word if " " not in word else f'{name}="{value}"' if equals else f'"{word}"'


def _path() -> str:
    own = os.environ.get("PATH", "")
    return f"{own}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def environment_of_tools() -> dict[str, str]:
    """Our environment variables that the tools in the guest use, and the paths of the tools: a search from inside the
    guest would not find all places."""
    variables = {name: value for name, value in os.environ.items() if name.startswith("LFP_")}
    if program := gateway_commands.named():
        variables[gateway_commands.VARIABLE] = program
    for tool in ("comet-delay", "rttcp", "pktlogger", "lft-gateway"):
        with contextlib.suppress(MissingError):
            variables[binaries.override_variable(tool)] = str(binaries.find(tool).resolve())
    return variables


def _last_words(text: str) -> str | None:
    """The reason why the kernel ended, from its console's text; None if it gives none."""
    for pattern, what in (
        (r"Kernel panic - not syncing: (.*)", "the guest panicked: "),
        (r"Out of memory: (.*)", "the guest ran out of memory: "),
    ):
        if found := re.search(pattern, text):
            return what + found[1].strip()
    return None
