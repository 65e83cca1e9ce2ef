"""Work that needs many times the memory of its caller, in a process of its own: to prepare the timeline of a long
transfer.

Elsewhere that is a new interpreter. The dashboard's server may not start a program (server/serving.py), so before it
has threads it forks a process, `Forks`, which waits and forks another for each request. All are confined as the server
is. Rejected: forking the server itself, whose threads may hold any lock at that moment.
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
    """A process that forks one for each request. It ends when the process ends that made this object."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        asked, self._asks = os.pipe()
        self._answers, answers = os.pipe()
        if os.fork() == 0:
            _serve(asked, answers)
        os.close(asked)
        os.close(answers)

    def prepare(self, run: Path, trial: int, flow: int, *way: str) -> None:
        """Returns when the process for it has ended, whatever came of it."""
        with self._lock:
            os.write(self._asks, json.dumps([str(run), str(trial), str(flow), *way]).encode() + b"\n")
            os.read(self._answers, len(_DONE))


_FORKS: list[Forks] = []  # of this process: one at most


def begin() -> None:
    """From now on this process, which has one thread, starts no program and forks instead."""
    _FORKS.append(Forks())


def prepare(run: Path, trial: int, flow: int, *way: str) -> None:
    """Makes the files of a flow (`dashboard.timeline.prepare`), if it can: whoever wants them looks whether they are
    there. ``way``: `reverse` for what the receivers sent."""
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
    """In a process of its own, as the new interpreter would do it. What goes wrong is seen in what is missing then."""
    try:
        sys.argv[1:] = json.loads(request)
        runpy.run_module(_PROGRAM, run_name="__main__")
    finally:
        os._exit(0)
