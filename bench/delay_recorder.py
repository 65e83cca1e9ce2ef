"""delay.recorder: the cost of recording every wire packet: delay.lsr's path at MTU 1,500, with the recorder and
without.

The recorder's reader runs too and writes columns. So the figure is the price of having these columns, on this machine's
processors and disk. The recorder never makes packets wait; the figures say how many it skipped.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import delay_lsr
from bench.registry import Bench, Place, Result, scaled
from bench.two_hosts import Load, box
from netcommon.binaries import find
from netcommon.process import Tool
from scenarios.network.host_pair import MTU, Hosts, hosts

NAME = "delay.recorder"
MEMORY_BYTES = 1 << 30


def measure(place: Place) -> Iterator[Result]:
    """One pair, 30 s each after slow start, with the number of packets that the recorder skipped in both directions."""
    load = Load(seconds=place.seconds or 30, warm_up_s=delay_lsr.START_UP_S)
    pairs: list[dict[str, Any]] = []
    with hosts(place.ledger) as pair:
        for _ in range(place.pairs or 1):
            with box(pair, MTU, delay_lsr.PATH, place.scratch, place.ledger):
                without = delay_lsr.arriving_bps(pair, load, place)
            measured = {"base": without} | _recorded(pair, place, load)
            pairs.append(measured)
            place.say(
                f"{NAME}: without {scaled(without, 'bit/s')}, with {scaled(measured['ours'], 'bit/s')}, "
                f"{measured['recorded']} wire packets recorded, {measured['skipped']} skipped"
            )
    yield Result(NAME, "bit/s", "without", pairs)


def _recorded(pair: Hosts, place: Place, load: Load) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory, contextlib.ExitStack() as stack:
        record, columns = Path(memory) / "record", place.scratch / "columns"
        options = {"record": record, "record_memory_bytes": MEMORY_BYTES}
        tool = stack.enter_context(box(pair, MTU, delay_lsr.PATH, place.scratch, place.ledger, **options))
        argv = [str(find("pktlogger")), "record", str(record), "-o", str(columns), "--json", "--parent-death"]
        reader = stack.enter_context(Tool(argv, name="pktlogger", ledger=place.ledger))
        reader.wait_event("ready", 10)
        bps = delay_lsr.arriving_bps(pair, load, place)
        end = tool.stop(10.0) or {}
        reader.finish(60.0)
    told = [end["statistics"][direction]["record"] for direction in ("ab", "ba")]
    return {
        "ours": bps,
        "recorded": sum(one["packets"] for one in told),
        "skipped": sum(one["skipped_packets"] for one in told),
    }


BENCH = Bench(NAME, "one stream at 10 Gbit/s and RTT 498 ms with every wire packet recorded, and without", measure)
