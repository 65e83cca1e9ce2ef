"""``attack.shares``: how much of each resource one source can take, and how much of their fair shares the others then
get.

A fair share is an equal part of the resource, or a source's demand if that is smaller. Each of the others must get at
least half of it. The figures are counts in virtual time or of lft-sim, except the page's connections, which also do not
depend on the machine's speed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.attack import page, streams
from bench.attack.share import Share
from bench.registry import Bench, Place, Result, Row
from netcommon.binaries import CHECKOUT
from netcommon.errors import LfpError
from scenarios.virtual import kernel, program

LEAST = 0.5
TIMEOUT_S = 600


def in_guest(module: str, name: str, **sizes: int | str) -> Share:
    """A row that a module of this package measures in a guest."""
    argv = [sys.executable, "-m", f"bench.attack.{module}", name, json.dumps(sizes)]
    done = program.run(argv, folder=CHECKOUT, timeout_s=TIMEOUT_S)
    if done.status:
        raise LfpError(f"attack.shares: {name}: {done.output.strip()}")
    return Share(**json.loads(done.output.splitlines()[-1]))


@dataclass(frozen=True)
class Resource:
    """One row. ``virtual``: it needs the kernel of virtual time."""

    what: str
    measure: Callable[[Path], Share]
    virtual: bool = True


def _guest(what: str, module: str, name: str, **sizes: int | str) -> Resource:
    return Resource(what, lambda _: in_guest(module, name, **sizes))


RESOURCES = [
    _guest("connections of a gateway", "gateways", "sessions", places=64),
    _guest("half-open connections of a gateway", "gateways", "half_open", places=64),
    _guest("handshakes of the tunnel", "gateways", "handshakes", copies=200),
    _guest("look-ups of names at a gateway", "gateways", "names", places=64),
    _guest("descriptors of a gateway", "gateways", "descriptors", limit=400),
    _guest("processor of a gateway", "gateways", "processor", connections=20),
    Resource("memory of a gateway's streams", lambda _: streams.memory(1000, 20), virtual=False),
    _guest("sessions of rttcp -r", "receiver", "sessions", places=16),
    _guest("memory of rttcp -r", "receiver", "memory", sessions=16),
    _guest("descriptors of rttcp -r", "receiver", "descriptors", limit=64),
    Resource("connections of the dashboard's page", partial(page.connections, wanted=200, others=20), virtual=False),
]


def row(resource: Resource, share: Share) -> Row:
    """The result of the worst-off other source, as a fraction of its due share."""
    return Row(resource.what, "of a fair share", share.worst, LEAST, 1, share.said)


def measure(place: Place) -> Iterator[Result]:
    """One result with a row for each resource. Without a built kernel its rows are left out, and a line says
    why."""
    if why := kernel.missing():
        place.say(f"attack.shares: rows in virtual time are left out: {why}")
    rows = [row(one, one.measure(place.scratch)) for one in RESOURCES if not (one.virtual and why)]
    method = (
        "One source asks again and again for more than the whole of a resource; others ask for equal parts. The figure "
        "is the part of the source that got least. It comes from virtual time, lft-sim, or counts without times."
    )
    yield Result("attack.shares", "within bounds", None, rows=rows, method=method)


BENCH = Bench("attack.shares", "what one source takes, and what others then get; needs 'make virtual'", measure)
