"""delay.tap_floor: delay.offloads_off compared with the least that a delay box on TAPs can cost on this machine.

The floor (comet_delay/floor/tap_floor.c) only reads, waits and writes: it has no model and no statistics. No box that
reads and writes TAPs can be faster. Box and floor run with one thread, and with one for each direction. The base is a
bare veth pair, which is measured in every round.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from bench.delay_offloads_off import COMPARISON
from bench.registry import Bench, Place, Result, scaled
from bench.two_hosts import Load, box, stream_bps
from comet_delay import Port
from netcommon.binaries import find
from netcommon.process import Tool
from scenarios.network.host_pair import MTU, NIC, Hosts, address, hosts, offloads_off, veth

NAME = "delay.tap_floor"
ROUNDS = 3
PathUp = Callable[[], AbstractContextManager[Any]]


def measure(place: Place) -> Iterator[Result]:
    """A result for each variant, from three rounds of 5 s after a warm-up."""
    load = Load(seconds=place.seconds or 5, warm_up_s=3)
    rounds: list[dict[str, float]] = []
    with hosts(place.ledger) as pair:
        variants = _variants(pair, place)
        for number in range(1, (place.pairs or ROUNDS) + 1):
            measured = {name: _measured(pair, place, load, path) for name, path in variants.items()}
            rounds.append(measured)
            said = ", ".join(f"{name} {scaled(bps, 'bit/s')}" for name, bps in measured.items())
            place.say(f"{NAME} {number}: {said}")
    for name in list(variants)[1:]:
        pairs: list[dict[str, Any]] = [{"ours": one[name], "base": one["veth"]} for one in rounds]
        yield Result(NAME, "bit/s", "veth", pairs, extra={"variant": name})


def _variants(pair: Hosts, place: Place) -> dict[str, PathUp]:
    found: dict[str, PathUp] = {"veth": lambda: veth(pair, MTU)}
    for threads in (1, 2):
        found[f"floor, {threads} threads"] = lambda threads=threads: _floor(pair, place, threads)  # type: ignore[misc]
        found[f"box, {threads} threads"] = lambda threads=threads: box(  # type: ignore[misc]
            pair, MTU, COMPARISON.path, place.scratch, place.ledger, threads=threads
        )
    return found


def _measured(pair: Hosts, place: Place, load: Load, path: PathUp) -> float:
    with path():
        offloads_off(pair)
        return stream_bps(pair, load, place.ledger)


@contextlib.contextmanager
def _floor(pair: Hosts, place: Place, threads: int) -> Iterator[None]:
    ports = [str(Port(NIC, pid)) for pid in (pair.sender, pair.receiver)]
    argv = [str(find("comet-tap-floor")), *ports, str(COMPARISON.path["delay_ns"]), str(threads)]
    with Tool(argv, name="comet-tap-floor", ledger=place.ledger) as tool:
        tool.wait_event("ready", 30)
        address(pair, MTU)
        yield


BENCH = Bench(NAME, "delay.offloads_off against the least cost of a box on TAPs, one and two threads", measure)
