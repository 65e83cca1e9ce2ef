"""Process 1 of a virtual-time guest: mounts what programs expect, runs one trial, powers off.

The root is the host's own file system, read-only. Writable are /run (tmpfs) with `HOME` in it, the folders of
`TEMPORARY`, whose changes stay in memory, and `SHARE`, the one folder of the host that takes the trial's files. In a
guest every system call costs tens of µs of wall time. So the guest loads nothing that only works on results (the host
does that), and has no shell or service. Virtual time advances only while all processes wait.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import pickle
import subprocess
import sys
import threading
import time
import traceback
import tty
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netcommon.errors import LfpError, MissingError
from scenarios.virtual import lean, mounts

if TYPE_CHECKING:
    from scenarios.plan.plan import Trial
    from scenarios.trial.delay_box import BackEnd
    from scenarios.virtual.machine import Machine

SHARE = Path("/run/share")
JOB, ERROR, CLOCK, OUTPUT, STATUS, UNWRITTEN = "job.pickle", "error.json", "clock", "output", "status", "unwritten"
RESULT = "result.json"
HOME = Path("/run/home")  # empty, because its contents would differ from user to user
TEMPORARY = ("/tmp", "/var/tmp")  # folders of the host's that programs may write to
_TERMINAL = "/dev/tty1"  # the kernel writes what it gets at once and without blocking to OUTPUT, a file of the host's
_POWER_OFF, _SET_TIMERSLACK = 0x4321FEDC, 29
_HEARTBEAT_S = 1.0
_RECORD = Path("/proc/record")  # patches/7/who-ran-when.patch: recording begins when something is written to it
# patches/7/who-sets-up.patch: a process that writes to it takes no time, nor do its children; and random numbers start
# again from the seed.
_SETTING_UP = Path("/proc/setting_up")
# Trials and commands begin at this time of the clock, but not in its first second. What TCP hears then has
# ts_recent_stamp 0, as if it had no timestamp, and a port in TIME-WAIT is not used again (RFC 6191). The heartbeat is
# half a second off.
_START_S = 1.0
_MCL_FUTURE, _STACK_BYTES = 2, 256 * 1024
# By default the kernel gives TCP a tenth of the memory; the guest's memory was sized for the data in flight.
TCP_SHARE = 0.75

_libc = ctypes.CDLL(None, use_errno=True)


def _set_up(share: str) -> None:
    for kind, target in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run"), ("devtmpfs", "/dev")):
        mounts.mount(kind, target)
    for folder in ("/dev/pts", "/dev/shm", "/run/tmp", str(SHARE)):
        Path(folder).mkdir(exist_ok=True)
    mounts.mount("devpts", "/dev/pts", "newinstance,ptmxmode=0666")
    mounts.mount("tmpfs", "/dev/shm")
    mounts.mount("hostfs", SHARE, share)
    HOME.mkdir()
    for folder in TEMPORARY:
        mounts.changeable(folder, Path(f"/run/changed{folder}"))
    for name, target in (("fd", "/proc/self/fd"), ("ptmx", "pts/ptmx")):
        link = Path("/dev", name)
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    pages = os.sysconf("SC_PHYS_PAGES")
    limit = int(pages * TCP_SHARE)
    for name, value in (
        ("net/ipv4/tcp_mem", f"{limit} {limit} {limit}"),
        ("net/core/rmem_max", str(2**31 - 1)),
        ("net/core/wmem_max", str(2**31 - 1)),
        ("vm/dirty_background_bytes", str(16 * 2**20)),
        ("vm/overcommit_memory", "1"),
        ("vm/panic_on_oom", "2"),  # a panic is clear; a killed program would only look like a bad measurement
        ("kernel/randomize_va_space", "0"),
    ):
        Path("/proc/sys", name).write_text(value, encoding="ascii")
    _libc.prctl(_SET_TIMERSLACK, 1, 0, 0, 0)


def _lock_memory() -> None:
    """From here on, maps memory when it is allocated: 5 µs a page, where a page fault costs 20 to 30. What is mapped
    already stays as it is, because much of it is never used. Children do not inherit this."""
    threading.stack_size(_STACK_BYTES)
    _libc.mlockall(_MCL_FUTURE)


def _sleep_to(period_s: float, offset_s: float = 0.0) -> None:
    """Sleeps until the clock is next at a whole number of periods plus the offset. The clock does not advance while
    this process reads it, so a sleep of no length would be repeated for ever."""
    time.sleep(period_s - (time.monotonic() - offset_s) % period_s)


def _heartbeat() -> None:
    """Shows the host the virtual clock as the modification time of a file. A file's content would wait in this kernel's
    page cache."""
    clock = SHARE / CLOCK
    while True:
        now = time.monotonic_ns()
        os.utime(clock, ns=(now, now))
        _sleep_to(_HEARTBEAT_S, _HEARTBEAT_S / 2)


def _set_up_by_us() -> None:
    """From here on this process takes no time, and all random numbers in the guest depend only on the seed and on what
    happens from here on. Kernels before Linux 7 cannot do that."""
    if _SETTING_UP.exists():
        _SETTING_UP.write_text("1", encoding="ascii")


def _begin() -> None:
    """Waits for the one moment at which every guest begins, whatever came before."""
    early_s = _START_S - time.monotonic()
    if early_s <= 0:
        from netcommon.readable import duration

        took, allowed = duration(1e9 * (_START_S - early_s)), duration(1e9 * _START_S)
        raise LfpError(f"setting the guest up took {took} of its clock, not {allowed}")
    time.sleep(early_s)
    _set_up_by_us()


def _measure(trial: Trial, box: BackEnd, super_bytes: tuple[int, int]) -> None:
    """Runs the trial as on the host, except for the work on its results."""
    lean.pyroute2()
    from scenarios.trial.trial import run_trial
    from scenarios.virtual import lab

    _begin()
    scratch = Path("/run/tmp/trial")
    scratch.mkdir()
    with lab.topology(trial, super_bytes) as (net, ledger):
        run_trial(net, trial, SHARE, scratch, ledger, back_end=box, digested=False, watched=False)


def _call(module: str, name: str, arguments: dict[str, Any]) -> None:
    """Calls a function of ours instead of running a trial. The host gets its result as JSON."""
    lean.pyroute2()
    function = getattr(importlib.import_module(module), name)
    _begin()
    (SHARE / RESULT).write_text(json.dumps(function(**arguments)), encoding="utf-8")


def _begin_record() -> None:
    if not _RECORD.exists():
        raise MissingError("--record: this kernel is older than Linux 7 and keeps none; run 'lfp virtual --build'")
    _RECORD.write_text("1", encoding="ascii")


def _command(argv: list[str], folder: str, machine: Machine | None, recorded: bool) -> None:
    """Runs a program instead of a trial. The host sees its output at once, and its status at the end."""
    output = os.open(_TERMINAL, os.O_WRONLY | os.O_NOCTTY)
    tty.setraw(output)
    _begin()
    with ExitStack() as stack:
        environment = None
        if machine:
            argv = stack.enter_context(machine.entered(argv, str(SHARE)))
            environment = machine.environment
            _sleep_to(_HEARTBEAT_S)
        if recorded:
            _begin_record()
        began = time.monotonic_ns()
        done = subprocess.run(
            argv, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        taken_ns = time.monotonic_ns() - began
    (SHARE / STATUS).write_text(json.dumps({"status": done.returncode, "taken_ns": taken_ns}), encoding="ascii")


def _hand_over(share: int) -> None:
    """Writes the data that this kernel still holds. If some of it did not reach the host's disk, which no program here
    notices, the job's file gets another name: renaming needs no room on the disk."""
    if share >= 0 and _libc.syncfs(share):
        (SHARE / JOB).rename(SHARE / UNWRITTEN)


def main() -> None:
    """Runs the guest's job. It never returns: the machine is off afterwards."""
    share = -1
    gc.disable()  # a guest ends after one job; collections while modules load would only take time
    try:
        _lock_memory()
        _set_up(sys.argv[1])
        _set_up_by_us()
        share = os.open(SHARE, os.O_RDONLY)  # syncfs on it reports errors of writing from here on
        job = pickle.loads((SHARE / JOB).read_bytes())
        os.environ |= job["environment"]
        threading.Thread(target=_heartbeat, daemon=True).start()
        if "command" in job:
            _command(job["command"], job["folder"], job.get("machine"), job["recorded"])
        elif "call" in job:
            _call(*job["call"])
        else:
            _measure(job["trial"], job["box"], job["super_bytes"])
    except BaseException as error:
        traceback.print_exc()
        content = {"message": f"{error}" or type(error).__name__, "status": getattr(error, "status", 1)}
        try:
            (SHARE / ERROR).write_text(json.dumps(content), encoding="utf-8")
        except OSError as unwritable:
            print(f"cannot write to the run directory: {unwritable}", flush=True)
    sys.stdout.flush()
    _hand_over(share)
    _libc.reboot(_POWER_OFF)


if __name__ == "__main__":
    main()
