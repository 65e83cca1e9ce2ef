"""Runs a command to its end and says how long it took and how much memory it had at most.

The peak is VmHWM, read every 10 ms, which also counts the pages of mapped files. Rejected: ru_maxrss, which begins with
the memory of the process that started the command.
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


@dataclass(frozen=True)
class Cost:
    """What a command cost."""

    seconds: float
    memory_bytes: int
    said: str


def cost(argv: Sequence[str | Path], keep: bool = False) -> Cost:
    """Runs the command; LfpError when it fails or takes more than an hour. `keep`: what it prints is kept. What was
    written before goes to the disk first, so that the command need not wait for it."""
    os.sync()
    began = time.monotonic()
    out = subprocess.PIPE if keep else subprocess.DEVNULL
    peak = 0
    with subprocess.Popen([str(word) for word in argv], stdout=out, stderr=subprocess.DEVNULL, text=True) as child:
        try:
            while child.poll() is None:
                peak = max(peak, _peak_bytes(child.pid))
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
    return Cost(seconds, peak, said)


def _peak_bytes(pid: int) -> int:
    try:
        found = _PEAK.search(Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0
