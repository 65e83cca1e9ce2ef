"""A scheduler and workers of Dask on 127.0.0.1, each a process of its own, gone afterwards."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from netcommon.binaries import CHECKOUT
from netcommon.errors import LfpError

_READY_S, _END_S, _LOOK_S = 240.0, 30.0, 0.1


@contextmanager
def _dask(folder: Path, name: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """One of Dask's programs, and the file with its output."""
    said = folder / f"{name}.txt"
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    command = [sys.executable, "-m", "dask", *arguments, "--no-dashboard"]
    with said.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, stdout=output, stderr=output, env=environment, start_new_session=True
        )
    try:
        yield process, said
    finally:
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def scheduler(folder: Path) -> Iterator[tuple[str, int]]:
    """A scheduler's address and process id."""
    with _dask(folder, "scheduler", "scheduler", "--host", "127.0.0.1", "--port", "0") as (process, said):
        pattern = re.compile(r"Scheduler at:\s+(tcp://127\.0\.0\.1:\d+)")
        _until(lambda: bool(pattern.search(said.read_text(encoding="utf-8"))), "the scheduler")
        yield pattern.findall(said.read_text(encoding="utf-8"))[0], process.pid


@contextmanager
def worker(folder: Path, address: str, name: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker with one thread, which has registered."""
    options = ["--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--local-directory", str(folder)]
    with _dask(folder, name, "worker", address, *options) as (process, said):
        _until(lambda: "Registered to" in said.read_text(encoding="utf-8"), "a worker")
        yield process


def _until(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _READY_S
    while not true():
        if time.monotonic() > deadline:
            raise LfpError(f"{what} does not start within {_READY_S:.0f} s")
        time.sleep(_LOOK_S)
