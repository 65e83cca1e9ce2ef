"""Runs an unknown program for its output, with a bound on the time and on the size of the output.

A program that ignores an unknown option may run for ever, print for ever, or leave children behind that keep its output
open. Rejected: subprocess.run with a time limit. It ends only the program itself, and then waits for any process that
has its pipe.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from netcommon.errors import LfpError
from netcommon.readable import number

DEADLINE_S = 20.0  # a machine with a load of 25 takes seconds to start a program
MOST_BYTES = 2**20


def output(argv: Sequence[str | Path], deadline_s: float = DEADLINE_S) -> bytes:
    """Returns what a program prints until it exits. LfpError when it cannot start, fails, is late, or prints too
    much."""
    until_s = time.monotonic() + deadline_s
    try:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0
        )
    except OSError as error:
        raise LfpError(str(error)) from error
    assert process.stdout
    try:
        with process.stdout as stdout:
            said = _read(stdout.fileno(), until_s)
        status = process.wait(max(until_s - time.monotonic(), 0.1))
    except subprocess.TimeoutExpired:
        raise LfpError(f"it does not end within {number(deadline_s)} s") from None
    except TimeoutError:
        raise LfpError(f"no answer within {number(deadline_s)} s") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if status:
        raise LfpError(f"exit status {status}")
    return said


def _read(descriptor: int, until_s: float) -> bytes:
    said = b""
    while True:
        ready, _, _ = select.select([descriptor], [], [], max(until_s - time.monotonic(), 0))
        if not ready:
            raise TimeoutError
        if not (more := os.read(descriptor, 2**16)):
            return said
        said += more
        if len(said) > MOST_BYTES:
            raise LfpError(f"it prints more than {MOST_BYTES} octets")
