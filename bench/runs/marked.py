"""`lfp` in the background, marked in its environment, so that whatever it leaves is found without guessing."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from netcommon.binaries import CHECKOUT
from netcommon.errors import LfpError
from netcommon.ledger import Ledger, state_directories

_MARK = "LFP_BENCH_MARK"
_INTERFACES = ("snd-", "rcv-", "r1-", "r2-", "gw1-", "gw2-")
_LOOK_S = 0.05


class Lfp:
    """One `lfp`. Its process and every descendant carry a mark in their environment."""

    def __init__(self, *arguments: str) -> None:
        self.mark = uuid.uuid4().hex
        python_path = os.pathsep.join([str(CHECKOUT), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lfp", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ | {_MARK: self.mark, "PYTHONPATH": python_path},
        )

    def finish(self, timeout_s: float) -> None:
        """Waits for the end. LfpError when it failed."""
        _, said = self.process.communicate(timeout=timeout_s)
        if self.process.returncode:
            raise LfpError(f"lfp ended with status {self.process.returncode}: {said.strip()[-300:]}")

    def kill(self) -> bool:
        """Sends SIGKILL; returns whether the process was still running."""
        running = self.process.poll() is None
        self.process.kill()
        self.process.communicate()
        return running

    def left(self) -> list[str]:
        """Command lines of marked processes that still run."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if f"{_MARK}={self.mark}".encode() in (folder / "environ").read_bytes():
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
        return [line for line in found if line]

    def records(self) -> list[str]:
        """Entries about this process in the folders of records."""
        own = f"{self.process.pid}-"
        return [str(path) for folder in state_directories() for path in folder.glob(f"{own}*")]


def strays() -> set[str]:
    """Possible leftovers of a run on the machine: interfaces of this namespace, folders in memory and scratch folders.
    Entries recorded by a running run are not leftovers."""
    interfaces = {path.name for path in Path("/sys/class/net").iterdir() if path.name.startswith(_INTERFACES)}
    folders = {str(path) for place in ("/dev/shm", "/tmp") for path in Path(place).glob("lfp-*")}
    scratch = {str(path) for folder in state_directories() for path in folder.glob("run-*")}
    return (interfaces | folders | scratch) - _of_live_runs()


def _of_live_runs() -> set[str]:
    found: set[str] = set()
    for path in (path for folder in state_directories() for path in folder.glob("*.json")):
        with contextlib.suppress(ValueError, OSError):
            ledger = Ledger.load(path)
            found |= set(ledger.directories) if ledger.owner.alive() else set()
    return found


def until(true: Callable[[], bool], timeout_s: float) -> bool:
    """Polls the condition ``true`` for ``timeout_s`` at most; returns whether it became true."""
    deadline = time.monotonic() + timeout_s
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK_S)
    return True
