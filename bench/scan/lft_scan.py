"""lft.scan: a port scan through a pair of gateways does not delay other users.

Half-open connections take room in both gateways, and those to silent addresses for two minutes. The bench runs in
virtual time, so the figures depend on the protocols and not on the machine.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from bench.registry import Bench, Place, Result, Row
from netcommon.binaries import CHECKOUT
from netcommon.errors import LfpError
from scenarios.virtual import kernel, program

CLOSED, SILENT, CLIENTS = 10_000, 1000, 100
AT_ONCE = 300  # attempts in flight: nmap's maximum
HALF_OPEN = 1024  # the gateway's default
MOST = 1.2  # limit, as a multiple of the set-up time without the scan
TIMEOUT_S = 600


def measured() -> dict[str, Any]:
    """What `beside.measure` returns, from a guest."""
    arguments = (CLOSED, SILENT, AT_ONCE, CLIENTS, HALF_OPEN)
    argv = [sys.executable, "-m", "bench.scan.beside", *map(str, arguments)]
    done = program.run(argv, folder=CHECKOUT, timeout_s=TIMEOUT_S)
    if done.status:
        raise LfpError(f"lft.scan: {done.output.strip()}")
    found: dict[str, Any] = json.loads(done.output.splitlines()[-1])
    return found


def rows(found: dict[str, Any]) -> list[Row]:
    """The figures of a measurement, with their bounds."""
    alone, beside, scan, near = (found[name] for name in ("alone", "beside", "scan", "near"))
    return [
        *(
            Row(
                f"set-up during the scan, {what}",
                "times alone",
                beside[name] / alone[name],
                0,
                MOST,
                f"{alone[name]:.2f} ms alone, {beside[name]:.2f} ms during the scan",
            )
            for what, name in (("median", "median_ms"), ("p95", "p95_ms"), ("largest", "largest_ms"))
        ),
        Row("closed ports that refused", "", scan["refused"], CLOSED, CLOSED, f"the scan took {scan['seconds']:.1f} s"),
        Row("silent addresses", "", scan["silent"], SILENT, SILENT),
        Row(
            "connections through the tunnel",
            "",
            near["accepted"],
            alone["connections"] + beside["connections"],
            alone["connections"] + beside["connections"],
            f"{near['evicted']} half-open ones replaced",
        ),
    ]


def measure(place: Place) -> Iterator[Result]:
    """One result. Without a built kernel there is none, and a line says why."""
    if why := kernel.missing():
        place.say(f"lft.scan: left out: {why}")
        return
    method = (
        f"{CLIENTS} clients connect 5 times a second each, RTT 10 ms, in virtual time; the scanner has {AT_ONCE} "
        "attempts under way at once and waits 1 s for an answer."
    )
    yield Result("lft.scan", "within bounds", None, rows=rows(measured()), method=method)


BENCH = Bench("lft.scan", "set-up of connections during a port scan; needs 'make virtual'", measure)
