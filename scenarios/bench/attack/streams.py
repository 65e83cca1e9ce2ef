"""One client's streams that are not read, next to one stream that is: the memory of both gateways, in lft-sim.

The readers of the one client stand still, so all that its streams hold stays where it is. The other stream should have
the line to itself. lft-sim runs the gateways' own code in virtual time, so its figures do not depend on the machine.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

from netcommon.binaries import find
from scenarios.bench.attack.share import Share

PATH = ("--rate", "800Mbit", "--rtt", "200ms", "--loss", "0.1%", "--granularity", "250us", "--cut")


def _trial(still: int, seconds: int) -> dict[str, Any]:
    argv = [str(find("lft-sim")), *PATH, "--duration", f"{seconds}s", "--still", str(still), "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[0])
    return found


def memory(streams: int, seconds: int) -> Share:
    """The memory of streams, as the rate of one that is read next to so many that are not."""
    alone, beside = _trial(0, seconds), _trial(streams, seconds)
    mbit = [1e-6 * float(one["steady_bps"]) for one in (alone, beside)]
    return Share(0, [mbit[1]], mbit[0], "Mbit/s")
