"""A worker's task: it runs one trial in a temporary folder, in a process of its own. The answer holds the trial's
folder as an archive, and its record.

Errors are part of the answer instead of exceptions. Dask would repeat a task that raises, and would need our class of
exception to report it.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from distributed import get_worker

from netcommon.binaries import CHECKOUT
from netcommon.errors import EXIT_FAILED, EXIT_MISSING, LfpError
from scenarios.cluster import archive, carried, sameness
from scenarios.cluster.child import JOB, RECORD
from scenarios.plan.plan import Trial


@dataclass
class Child:
    """A process that runs trials, and the code that it has loaded. ``run``: whose trial it runs."""

    process: subprocess.Popen[str]
    said: IO[str]
    kind: str
    code: str
    run: str = ""

    @classmethod
    def start(cls, kind: str, code: str) -> Child:
        """A new process. The kernel ends it with this thread, so it cannot outlive the worker."""
        said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed by end()
        command = ["setpriv", "--pdeathsig", "KILL", sys.executable, "-m", "scenarios.cluster.child", kind]
        process = subprocess.Popen(
            command,
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            start_new_session=True,
        )
        return cls(process, said, kind, code)

    def fits(self, kind: str, code: str) -> bool:
        """Whether the process still runs, with this code and for this kind of time."""
        return self.kind == kind and self.code == code and self.process.poll() is None

    def measure(self, folder: Path) -> dict[str, Any]:
        """The record of the job in ``folder``. LfpError when the process ends before it has written one."""
        assert self.process.stdin and self.process.stdout
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(f"{folder}\n")
            self.process.stdin.flush()
        if self.process.stdout.readline() != "done\n":
            raise LfpError(f"the trial's process on the worker ended with status {self.process.wait()}: {self._last()}")
        record: dict[str, Any] = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        return record

    def _last(self) -> str:
        self.said.seek(0)
        return (self.said.read().strip().splitlines() or ["it said nothing"])[-1]

    def end(self) -> None:
        """Ends the process in an orderly way, so that it removes its files."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_END_S)
                break
        self.said.close()


_END_S = 20.0
_children: list[Child] = []  # this worker's processes; those without a run are idle
_lock = threading.Lock()


def run(run: str, kind: str, wanted: dict[str, str], programs: list[str], job: bytes) -> dict[str, Any]:
    """Runs the pickled job of a trial: ``archive`` (bytes, or None), ``sha256`` of it, ``record``. ``wanted``: what
    must be the same here, by name; the job is read only when it is. ``kind``: real or virtual."""
    found = sameness.here(programs, virtual=kind == "virtual")
    if why := sameness.difference(wanted, found):
        return _error(f"refused the trial, because {why}; install the same there", EXIT_MISSING)
    folder = Path(tempfile.mkdtemp(prefix="lfp-trial-", dir=get_worker().local_directory))
    try:
        (folder / JOB).write_bytes(job)
        with _child(run, kind, found[sameness.CODE]) as child:
            record = child.measure(folder)
        if record["error"]:
            return {"archive": None, "sha256": None, "record": record}
        (made,) = (folder / "trials").glob("[0-9]*")
        packed = archive.pack(made)
        return {"archive": packed, "sha256": archive.digest(packed), "record": record}
    except (LfpError, OSError) as error:
        return _error(str(error), EXIT_FAILED)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _error(message: str, status: int) -> dict[str, Any]:
    record = {"error": {"message": message, "status": status}, "wall_s": 0.0, "virtual_s": None}
    return {"archive": None, "sha256": None, "record": record}


@contextlib.contextmanager
def _child(run: str, kind: str, code: str) -> Iterator[Child]:
    """An idle process with today's code, or a new one. It is kept afterwards, unless it failed."""
    with _lock:
        old = [one for one in _children if not one.run and not one.fits(one.kind, code)]
        idle = [one for one in _children if not one.run and one.fits(kind, code)]
        child = idle[0] if idle else Child.start(kind, code)
        child.run = run
        _children[:] = [one for one in _children if one not in old and one is not child] + [child]
    for one in old:
        one.end()
    try:
        yield child
    except BaseException:
        with _lock:
            _children.remove(child)
        child.end()
        raise
    child.run = ""


def refusal(wanted: dict[str, str], programs: list[str], virtual: bool) -> str | None:
    """Why this worker may not run trials, in a few words, or None."""
    return sameness.difference(wanted, sameness.here(programs, virtual=virtual))


def stop(run: str) -> None:
    """Ends the trials of ``run`` that are under way on this worker, because nobody waits for them any more."""
    with _lock:
        busy = [one for one in _children if one.run == run]
    for one in busy:
        one.process.send_signal(signal.SIGTERM)  # the thread that waits for the process notices its end


def job(trial: Trial, box: str | None, tools: list[str], folder: str) -> bytes:
    """The job of a trial: its resolved settings and seed, the files that its path's models name, the box in virtual
    time, the C tools, and the folder that names of other files are relative to."""
    files = carried.contents(trial.setting)
    return pickle.dumps({"trial": trial, "files": files, "box": box, "tools": tools, "folder": folder})
