"""``attack.load``: working clients during all attacks at once, for an hour of virtual time.

The attacks are a port scan, more idle connections than there are descriptors for, slow readers, look-ups of names that
hang, and an observer of state (`show`). Meanwhile no unreserved memory is left. No connection of a working client may
be lost or deliver wrong octets, and none may take longer than 1.5 times the longest of the same clients alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from bench.attack import streams
from bench.registry import Bench, Place, Result, Row
from netcommon.binaries import CHECKOUT
from netcommon.errors import LfpError
from scenarios.virtual import kernel, program

CLIENTS, ALONE_S, SECONDS, HOURS = 100, 60, 3600, 24
MOST = 1.5  # times the longest without attacks
MEMORY_BYTES = 3 << 30  # the guest's memory
TIMEOUT_S = 4 * 3600


def _told(say: Callable[[str], None]) -> Callable[[bytes], None]:
    """Prints each progress line of the guest."""
    kept = b""

    def said(more: bytes) -> None:
        nonlocal kept
        *lines, kept = (kept + more).split(b"\n")
        for line in lines:
            with suppress(ValueError, KeyError, TypeError):
                so_far = json.loads(line)
                say(
                    f"attack.load: {so_far['after_s']} s: {so_far['lost']} of {so_far['connections']} lost, "
                    f"longest {so_far['largest_ms']:.1f} ms, median {so_far['median_ms']:.1f} ms"
                )

    return said


def measured(
    clients: int, alone_s: int, seconds: int, timeout_s: float = TIMEOUT_S, say: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """What `working.measure` returns, from a guest. ``say`` gets a line for each minute of virtual time."""
    argv = [sys.executable, "-m", "bench.attack.working", *map(str, (clients, alone_s, seconds))]
    done = program.run(argv, folder=CHECKOUT, timeout_s=timeout_s, memory_bytes=MEMORY_BYTES, said=_told(say))
    if done.status:
        raise LfpError(f"attack.load: {done.output.strip()}")
    found: dict[str, Any] = json.loads(done.output.splitlines()[-1])
    return found


def rows(found: dict[str, Any]) -> list[Row]:
    """The figures of a measurement, with their bounds."""
    alone, beside, seen, near, far = (found[name] for name in ("alone", "beside", "seen", "near", "far"))
    said = f"{alone['largest_ms']:.1f} ms alone, {beside['largest_ms']:.1f} ms next to the attacks"
    held = ", ".join(f"{what} {n}" for what, n in seen.items())
    here, there, ever = near["relay"], far["relay"], float("inf")
    replaced = sum(
        relay[name] for relay in (here, there) for name in ("near_limited", "places_evicted", "sockets_evicted")
    )
    rivals = f"{here['sockets_evicted']} and {there['sockets_evicted']} connections of the busiest source made room"
    return [
        Row("connections lost", "", beside["lost"], 0, 0, f"of {beside['connections']}; {beside['losses'][:1]}"),
        Row("longest connection", "times alone", beside["largest_ms"] / alone["largest_ms"], 0, MOST, said),
        Row(
            "median connection",
            "times alone",
            beside["median_ms"] / alone["median_ms"],
            0,
            MOST,
            f"{alone['median_ms']:.1f} and {beside['median_ms']:.1f} ms",
        ),
        Row("octets compared", "MB", beside["octets"] / 1e6, 0, ever, held),
        Row("accept() without a descriptor", "", here["accepts_without_descriptor"], 1, ever, rivals),
        Row("socket() without a descriptor", "", there["connects_without_descriptor"], 1, ever),
        Row("malloc() without memory", "", there["names_without_memory"], 1, ever, "look-ups of names"),
        Row("keys replaced", "", near["tunnel"]["rekeys"], 0, ever),
        Row(
            "turned away or replaced",
            "",
            replaced,
            1,
            ever,
            f"{here['half_open_evicted'] + there['half_open_evicted']} half-open ones replaced",
        ),
    ]


def day_rows(hours: int) -> list[Row]:
    """A day of the gateways' own code in lft-sim, with attackers."""
    share, intact = streams.day(hours)
    what = f"{hours} h in lft-sim next to 1,000 streams that are not read"
    return [
        Row(f"{what}: rate", "of alone", share.worst, 1 / MOST, 1, share.said),
        Row(f"{what}: octets as sent", "", intact, 1, 1),
    ]


def measure(place: Place) -> Iterator[Result]:
    """One result. ``--seconds`` is the virtual time during the attacks."""
    if why := kernel.missing():
        place.say(f"attack.load: left out: {why}")
        return
    seconds = place.seconds or SECONDS
    method = f"{CLIENTS} clients, a connection of 8 KB each way every 10 s, for {seconds} s of virtual time."
    found = [*day_rows(HOURS), *rows(measured(CLIENTS, ALONE_S, seconds, say=place.say))]
    yield Result("attack.load", "within bounds", None, rows=found, method=method)


BENCH = Bench("attack.load", "clients at work next to all attacks at once; needs 'make virtual'", measure)
