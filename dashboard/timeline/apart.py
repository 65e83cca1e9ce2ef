"""Work that needs many times the memory of its caller, in a process of its own: to prepare the timeline of a long
transfer.

Usually the process is a new interpreter. But the dashboard's server may not start a program (server/serving.py), so
before it has threads it forks a process, `Forks`, which waits and forks another one for each request. All are confined
as the server is. Rejected: forking the server itself, whose threads may hold any lock at that moment.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import NoReturn

_DONE = b"."
_PROGRAM = "dashboard.timeline.prepare"


class Forks:
    """A process that forks another one for each request. It ends when the process that made this object ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        asked, self._asks = os.pipe()
        self._answers, answers = os.pipe()
        if os.fork() == 0:
            _serve(asked, answers)
        os.close(asked)
        os.close(answers)

    def prepare(self, run: Path, trial: int, flow: int, *way: str) -> None:
        """Returns when the forked process has ended, whether or not it succeeded."""
        with self._lock:
            os.write(self._asks, json.dumps([str(run), str(trial), str(flow), *way]).encode() + b"\n")
            os.read(self._answers, len(_DONE))


_FORKS: list[Forks] = []  # what this process forks with: one at most


def begin() -> None:
    """From now on this process forks instead of starting programs. It must have only one thread."""
    _FORKS.append(Forks())


def prepare(run: Path, trial: int, flow: int, *way: str) -> None:
    """Makes the files of a flow (`dashboard.timeline.prepare`), if it can: a caller has to check whether they exist
    afterwards. ``way``: `reverse` for what the receivers sent."""
    if _FORKS:
        _FORKS[0].prepare(run, trial, flow, *way)
        return
    command = [sys.executable, "-P", "-m", _PROGRAM, str(run), str(trial), str(flow), *way]
    subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def _serve(asked: int, answers: int) -> NoReturn:
    """Forks until the other end is closed. Of the server's descriptors it keeps these two and the standard ones."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    first, last = sorted((asked, answers))
    os.closerange(3, first)
    os.closerange(first + 1, last)
    os.closerange(last + 1, os.sysconf("SC_OPEN_MAX"))
    with os.fdopen(asked, "rb") as requests:
        for request in requests:
            child = os.fork()
            if child == 0:
                _prepare(request)
            os.waitpid(child, 0)
            os.write(answers, _DONE)
    os._exit(0)


def _prepare(request: bytes) -> NoReturn:
    """Runs in the forked process, and does what a new interpreter would do. Errors show by the missing files."""
    try:
        sys.argv[1:] = json.loads(request)
        runpy.run_module(_PROGRAM, run_name="__main__")
    finally:
        os._exit(0)
