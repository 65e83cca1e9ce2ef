"""Runs a command to its end and says how long it took and how much memory it had at most.

The peak is VmHWM, read every 10 ms, which also counts the pages of mapped files; the largest RssAnon that was read
leaves these out. Rejected: ru_maxrss, which begins with the memory of the process that started the command.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from netcommon.errors import LfpError

LONGEST_S = 3600.0
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)
_ANONYMOUS = re.compile(r"^RssAnon:\s+(\d+) kB", re.MULTILINE)


@dataclass(frozen=True)
class Cost:
    """What a command cost."""

    seconds: float
    memory_bytes: int
    anonymous_bytes: int
    said: str


def cost(argv: Sequence[str | Path], keep: bool = False) -> Cost:
    """Runs the command; LfpError when it fails or takes more than an hour. `keep`: what it prints is kept. What was
    written before goes to the disk first, so that the command need not wait for it."""
    os.sync()
    began = time.monotonic()
    out = subprocess.PIPE if keep else subprocess.DEVNULL
    peak = anonymous = 0
    with subprocess.Popen([str(word) for word in argv], stdout=out, stderr=subprocess.DEVNULL, text=True) as child:
        try:
            while child.poll() is None:
                status = _status(child.pid)
                peak, anonymous = max(peak, _bytes(_PEAK, status)), max(anonymous, _bytes(_ANONYMOUS, status))
                if time.monotonic() - began > LONGEST_S:
                    raise LfpError(f"{argv[0]}: not done after {LONGEST_S:.0f} s; measure fewer --packets")
                time.sleep(0.01)
            seconds = time.monotonic() - began
        finally:
            if child.poll() is None:
                child.kill()
        said = child.stdout.read() if child.stdout else ""
    if child.returncode:
        raise LfpError(f"{argv[0]}: exit status {child.returncode} in a bench")
    return Cost(seconds, peak, anonymous, said)


def _status(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return ""


def _bytes(row: re.Pattern[str], status: str) -> int:
    found = row.search(status)
    return int(found[1]) * 1024 if found else 0
