"""lft.sessions: a thousand sessions share the line evenly within bounded memory; ten thousand leave nothing behind.

The path has 800 Mbit/s, RTT 200 ms and 0.1 % loss. The load is one process with non-blocking sockets at either end. The
receiver counts octets over the same seconds for every session.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.lft_lab import LONG_PATH, RATE_BPS, ROUTER, SERVER, Lab, lab
from bench.registry import Bench, Place, Result, Row
from netcommon.errors import LfpError
from netcommon.process import Tool
from scenarios.statistics.fairness import jain

SESSIONS, SECONDS, WARM_UP_S, CONNECTS = 1000, 30, 5, 10_000
RTT_S = 0.2
PATH = LONG_PATH | {"loss_ppb": 1_000_000}
OPTIONS = (*ROUTER, "--rate", f"{RATE_BPS}bit", "--sessions", "4096", "--half-open", "4096")
LOAD = Path(__file__).with_name("lft_load.py")
MEMORY_BYTES = (64 << 20) + 4 * RATE_BPS // 8 * RTT_S
GONE_S, SETTLE_S = 15.0, 5.0


def _load(made: Lab, sessions: int, seconds: int) -> list[int]:
    """The octets of each session that arrived during the measured seconds."""
    python = [sys.executable, str(LOAD)]
    with Tool(
        [*python, "serve", str(sessions), str(WARM_UP_S), str(seconds)],
        netns_pid=made.server,
        name="sink",
        ledger=made.ledger,
    ) as sink:
        sink.wait_event("ready", 10)
        with Tool([*python, "send", SERVER, str(sessions)], netns_pid=made.client, name="source", ledger=made.ledger):
            return [int(count) for count in sink.wait_event("end", WARM_UP_S + seconds + 60.0)["octets"]]


def _connects(made: Lab, count: int) -> None:
    """Opens and closes this many connections with one octet each, up to 200 at a time."""
    python = [sys.executable, str(LOAD)]
    with Tool([*python, "accept"], netns_pid=made.server, name="acceptor", ledger=made.ledger) as acceptor:
        acceptor.wait_event("ready", 10)
        with Tool(
            [*python, "connect", SERVER, str(count)], netns_pid=made.client, name="connector", ledger=made.ledger
        ) as connector:
            end = connector.wait_event("end", 300.0)
    if end["failed"]:
        raise LfpError(f"lft.sessions: {end['failed']} of {count} connects failed")


def _nothing_left(made: Lab) -> tuple[int, int, int]:
    """The connections, streams and descriptors that are left after they have had time to end."""
    deadline = time.monotonic() + GONE_S
    while True:
        states = [made.show(which) for which in made.running]
        connections = sum(state["relay"]["connections"] for state in states)
        streams = sum(state["session"]["streams"] for state in states)
        if (not connections and not streams) or time.monotonic() > deadline:
            return connections, streams, made.descriptors()
        time.sleep(0.1)


def _settled_bytes(made: Lab) -> int:
    """Resident memory without the rings: the least of several readings, because slabs are freed a second after their
    last use."""
    seen = []
    for _ in range(round(SETTLE_S / 0.25)):
        time.sleep(0.25)
        seen.append(made.resident_bytes() - made.rings_bytes())
    return min(seen)


def measure(place: Place) -> Iterator[Result]:
    """One result with all rows. ``pairs`` times a thousand is the number of connects."""
    seconds = place.seconds or SECONDS
    with lab(place, PATH) as made, made.gateways(*OPTIONS, whole_frames=True):
        one = sum(_load(made, 1, seconds)) * 8 / seconds
        place.say(f"one session: {one / 1e6:.1f} Mbit/s")
    with lab(place, PATH) as made, made.gateways(*OPTIONS, whole_frames=True):
        octets = _load(made, SESSIONS, seconds)
        resident = made.resident_bytes()
        total = sum(octets) * 8 / seconds
        place.say(f"{SESSIONS}: {total / 1e6:.1f} Mbit/s, Jain {jain(octets):.4f}, {resident >> 20} MB")
        _nothing_left(made)
    with lab(place, PATH | {"delay_ns": 1_000_000, "loss_ppb": 0}) as made, made.gateways(*OPTIONS, whole_frames=True):
        _connects(made, 500)  # these allocate the memory that is kept for later connections
        _, _, descriptors = _nothing_left(made)
        before = _settled_bytes(made)
        connects = (place.pairs or CONNECTS // 1000) * 1000
        _connects(made, connects)
        connections, streams, after = _nothing_left(made)
        grown = _settled_bytes(made) - before
    note = f"{total / 1e6:.1f} Mbit/s"
    rows = [
        Row("one session", "Mbit/s", one / 1e6, 0.0, math.inf),
        Row(f"{SESSIONS} sessions, share of one's", "ratio", total / max(one, 1), 0.9, math.inf, note),
        Row("Jain's index", "", jain(octets), 0.95, 1.0),
        Row("resident memory", "MB", resident / 2**20, 0.0, MEMORY_BYTES / 2**20),
        Row(f"connections left after {connects}", "", connections, 0, 0),
        Row("streams left", "", streams, 0, 0),
        Row("descriptors more", "", after - descriptors, 0, 0),
        Row("resident memory more, without rings", "MB", grown / 2**20, -math.inf, 1.0),
    ]
    path = "800 Mbit/s of IP packets, RTT 200 ms, loss 0.1 %, queue 4 MB"
    method = f"{path}, {seconds} s after {WARM_UP_S} s; connects at RTT 2 ms."
    yield Result("lft.sessions", "within bounds", None, rows=rows, method=method)


BENCH = Bench("lft.sessions", "a thousand sessions: sum, fairness, memory; what ten thousand connects leave", measure)
