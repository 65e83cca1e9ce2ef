"""One client's streams that nobody reads, at the same time as one stream that is read: the memory of both gateways, in
lft-sim.

The readers of the one client stand still, so all that its streams hold stays where it is. The other stream should have
the line to itself. lft-sim runs the gateways' own code in virtual time, so its figures do not depend on the machine.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

from bench.attack.share import Share
from netcommon.binaries import find

PATH = ("--rate", "800Mbit", "--rtt", "200ms", "--loss", "0.1%", "--granularity", "250us")
DAYS_PATH = (
    "--rate", "2Mbit", "--queue", "100KB", "--rtt", "200ms", "--loss", "0.1%", "--duplicate", "1%", "--jitter", "5ms",
    "--granularity", "1ms",
)  # fmt: skip


def _trial(*options: str) -> dict[str, Any]:
    argv = [str(find("lft-sim")), *options, "--cut", "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[0])
    return found


def day(hours: int) -> tuple[Share, bool]:
    """The rate of 20 streams during this number of hours, next to 1,000 that are not read, on a path that loses,
    repeats and reorders; and whether every octet was the one that was sent."""
    alone, beside = (
        _trial(*DAYS_PATH, "--streams", "20", "--still", str(still), "--duration", f"{hours}h") for still in (0, 1000)
    )
    mbit = [1e-6 * float(one["steady_bps"]) for one in (alone, beside)]
    return Share(0, [mbit[1]], mbit[0], "Mbit/s"), bool(alone["intact"] and beside["intact"] and beside["complete"])


def memory(streams: int, seconds: int) -> Share:
    """How streams share memory: the rate of one stream that is read while this many others are not."""
    alone, beside = (_trial(*PATH, "--duration", f"{seconds}s", "--still", str(still)) for still in (0, streams))
    mbit = [1e-6 * float(one["steady_bps"]) for one in (alone, beside)]
    return Share(0, [mbit[1]], mbit[0], "Mbit/s")
