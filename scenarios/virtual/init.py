"""Process 1 of a virtual-time guest: mounts what programs expect, runs one trial, powers off.

The root is the host's own file system, read-only; writable are /run (tmpfs) and `SHARE`, the one folder of the host
that the trial's files go to. Every system call costs tens of µs of wall time in here, so nothing is loaded that only
works on results (that is done outside), and no shell or service takes part. Virtual time goes on only while everybody
waits.
"""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from scenarios.virtual import lean

if TYPE_CHECKING:
    from scenarios.delay_box import BackEnd
    from scenarios.plan import Trial
    from scenarios.topology import Topology

SHARE = Path("/run/share")
JOB, ERROR, CLOCK, OUTPUT, STATUS, UNWRITTEN = "job.pickle", "error.json", "clock", "output", "status", "unwritten"
_POWER_OFF, _SET_TIMERSLACK = 0x4321FEDC, 29
_HEARTBEAT_S = 1.0
# Trials begin at a full second: a look at the clock takes a tick of it, and how often what came before looked depends
# on the host (which modules it keeps compiled). The heartbeat is half a second off.
_START_S = 1.0
_MCL_CURRENT_AND_FUTURE, _STACK_BYTES = 3, 256 * 1024
_CHEAP_STOPS = 7  # the kernel from which on a page fault costs less than to map more than is used
# A tenth of the memory is the kernel's default for TCP; the guest's was sized for what is in flight.
_TCP_SHARE = 0.75

_libc = ctypes.CDLL(None, use_errno=True)


def _mount(kind: str, target: str, options: str = "") -> None:
    if _libc.mount(kind.encode(), target.encode(), kind.encode(), 0, options.encode()):
        raise OSError(ctypes.get_errno(), f"mount {kind} on {target}")


def _set_up(share: str) -> None:
    for kind, target in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run"), ("devtmpfs", "/dev")):
        _mount(kind, target)
    for folder in ("/dev/pts", "/dev/shm", "/run/tmp", str(SHARE)):
        Path(folder).mkdir(exist_ok=True)
    _mount("devpts", "/dev/pts", "newinstance,ptmxmode=0666")
    _mount("tmpfs", "/dev/shm")
    _mount("hostfs", str(SHARE), share)
    for name, target in (("fd", "/proc/self/fd"), ("ptmx", "pts/ptmx")):
        link = Path("/dev", name)
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    pages = os.sysconf("SC_PHYS_PAGES")
    limit = int(pages * _TCP_SHARE)
    for name, value in (
        ("net/ipv4/tcp_mem", f"{limit} {limit} {limit}"),
        ("net/core/rmem_max", str(2**31 - 1)),
        ("net/core/wmem_max", str(2**31 - 1)),
        ("vm/dirty_background_bytes", str(16 * 2**20)),
        ("vm/overcommit_memory", "1"),
        ("vm/panic_on_oom", "2"),  # a clear end; a program killed in passing would only look like a bad measurement
        ("kernel/randomize_va_space", "0"),
    ):
        Path("/proc/sys", name).write_text(value, encoding="ascii")
    _libc.prctl(_SET_TIMERSLACK, 1, 0, 0, 0)


def _lock_memory() -> None:
    """Memory is mapped at once instead of by page faults, where each is dear. Children do without."""
    threading.stack_size(_STACK_BYTES)
    _libc.mlockall(_MCL_CURRENT_AND_FUTURE)


def _sleep_to(period_s: float, offset_s: float = 0.0) -> None:
    """Until the clock is at a whole number of periods and this much."""
    time.sleep((offset_s - time.monotonic()) % period_s)


def _heartbeat() -> None:
    """Shows the host the virtual clock, as the time of a file: content would wait in this kernel's page cache."""
    clock = SHARE / CLOCK
    while True:
        now = time.monotonic_ns()
        os.utime(clock, ns=(now, now))
        _sleep_to(_HEARTBEAT_S, _HEARTBEAT_S / 2)


def _ends_of_path(net: Topology, trial: Trial) -> tuple[tuple[int, str], tuple[int, str]]:
    """Who sends into the path, namespace and interface: gateways that are nodes, or else the hosts."""
    if not trial.setting.gateway.has_nodes:
        return (net.sender, net.host_interface("snd")), (net.receiver, net.host_interface("rcv"))
    pids = net.pids()
    return (pids["gw1"], net.interface("gw1", "right")), (pids["gw2"], net.interface("gw2", "left"))


def _measure(trial: Trial, box: BackEnd, super_bytes: tuple[int, int]) -> None:
    """The trial as outside, but for working on its results."""
    lean.pyroute2()
    from netcommon.ledger import Ledger
    from scenarios import links
    from scenarios.topology import Topology
    from scenarios.trial import run_trial

    _sleep_to(_START_S)
    scratch = Path("/run/tmp/trial")
    scratch.mkdir()
    with Ledger.open() as ledger, Topology.of(trial.setting, ledger) as net:
        for (pid, interface), most in zip(_ends_of_path(net, trial), super_bytes, strict=True):
            if most:
                links.limit_super_packets(pid, interface, most)
        run_trial(net, trial, SHARE, scratch, ledger, back_end=box, digested=False)


def _command(argv: list[str], folder: str) -> None:
    """A program in place of a trial; its output and status for the host."""
    with (SHARE / OUTPUT).open("wb") as output:
        status = subprocess.run(argv, cwd=folder, stdout=output, stderr=subprocess.STDOUT).returncode
    (SHARE / STATUS).write_text(str(status), encoding="ascii")


def _hand_over(share: int) -> None:
    """Writes what this kernel still holds. When some of it did not get to the host's disk, which no program here has
    heard of, the job's file gets another name: that takes no room."""
    if share >= 0 and _libc.syncfs(share):
        (SHARE / JOB).rename(SHARE / UNWRITTEN)


def main() -> None:
    """Never returns: the machine is off afterwards."""
    share = -1
    try:
        if int(os.uname().release.partition(".")[0]) < _CHEAP_STOPS:
            _lock_memory()
        _set_up(sys.argv[1])
        share = os.open(SHARE, os.O_RDONLY)  # errors of writing are told from here on
        job = pickle.loads((SHARE / JOB).read_bytes())
        os.environ |= job["environment"]
        threading.Thread(target=_heartbeat, daemon=True).start()
        if "command" in job:
            _command(job["command"], job["folder"])
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
