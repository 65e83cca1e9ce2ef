"""log.match: `pktlogger match` with 1,000 patterns, from a capture in memory and live.

From memory: bytes of streams a second. The time includes reading, reassembly and scanning, and also compiling the rules
and starting the process. `cpu`: bytes a second of CPU time, for a machine that is not quiet. One set of rules is 1,000
strings; the other one is 900 strings and 100 expressions. Nothing is compared.

Live: one CUBIC stream over a veth pair at several rates, with match at the receiver's interface, and then as fast as it
goes. `dropped`: packets (super-packets count once) that match did not get. The last one is the path of delay.lsr.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import delay_lsr
from bench.log.command import cost
from bench.log.streams import rules, write
from bench.registry import Bench, Place, Result, scaled
from bench.two_hosts import box, iperf3
from netcommon.binaries import find
from netcommon.process import Tool
from scenarios.network.host_pair import MTU, NIC, Hosts, hosts, received, veth

NAME = "log.match"
PACKETS, PAIRS, SECONDS = 700_000, 3, 10
RATES_GBPS = (2.5, 5, 10, 0)  # 0: no limit
RULES = {"strings": (1000, 0), "mixed": (900, 100)}


def measure(place: Place) -> Iterator[Result]:
    """A result for each set of rules from memory, for each rate live, and for the path of delay.lsr."""
    sets = {name: rules(place.scratch / name, *counts) for name, counts in RULES.items()}
    yield from _from_memory(place, sets)
    with hosts(place.ledger) as pair:
        for gbps in RATES_GBPS:
            with veth(pair, MTU):
                yield _live(place, pair, sets["strings"], f"veth {gbps or 'unlimited'}", gbps, 2)
        with box(pair, MTU, delay_lsr.PATH, place.scratch, place.ledger):
            yield _live(place, pair, sets["strings"], "delay.lsr", 0, delay_lsr.START_UP_S)


def _from_memory(place: Place, sets: dict[str, Path]) -> Iterator[Result]:
    capture = place.scratch / "streams.pcap"
    payload = write(capture, place.packets or PACKETS)
    try:
        for name, file in sets.items():
            pairs: list[dict[str, Any]] = []
            for number in range(1, (place.pairs or PAIRS) + 1):
                before_s = _children_s()
                costs = cost([find("pktlogger"), "match", "--json", "--rules", file, capture], keep=True)
                cpu_s = _children_s() - before_s
                end = json.loads(costs.said.splitlines()[-1])
                scanned = end["scanned_bytes"]
                one = {"ours": scanned / costs.seconds, "cpu": scanned / cpu_s, "memory_bytes": costs.memory_bytes}
                pairs.append(one)
                place.say(
                    f"{NAME} {name} {number}: {one['ours'] / 1e9:.2f} GB/s, {one['cpu'] / 1e9:.2f} GB a CPU second"
                )
            yield Result(NAME, "B/s", None, pairs, extra={"rules": name, "bytes": payload, "hits": end["hits"]})
    finally:
        capture.unlink()


def _children_s() -> float:
    """The CPU time of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _live(place: Place, pair: Hosts, file: Path, path: str, gbps: float, warm_up_s: int) -> Result:
    """Reads one stream live, from before its start until after `seconds`."""
    seconds = place.seconds or SECONDS
    options = ["--time", str(warm_up_s + seconds + 30), "--congestion", "cubic", "--length", "128K"]
    options += ["--bitrate", f"{gbps}G"] if gbps else []
    argv: list[str | Path] = [find("pktlogger"), "match", "--json", "--rules", file, "-i", NIC, "--buffer", "512MB"]
    with Tool(argv, netns_pid=pair.receiver, name="pktlogger match", ledger=place.ledger) as match:
        match.wait_event("ready", 30)
        with iperf3(pair, place.ledger, *options):
            time.sleep(warm_up_s)
            began, before = time.monotonic(), received(pair)[0]
            time.sleep(seconds)
            bps = (received(pair)[0] - before) * 8 / (time.monotonic() - began)
        end = match.stop(60)
    assert end is not None
    pair_ = {"ours": bps, "dropped": end["dropped"], "frames": end["frames"], "gap_bytes": end["gap_bytes"]}
    place.say(f"{NAME} live, {path}: {scaled(bps, 'bit/s')}, {end['dropped']} of {end['frames']} packets dropped")
    return Result(NAME, "bit/s", None, [pair_], extra={"live": path, "dropped": end["dropped"], "seconds": seconds})


BENCH = Bench(NAME, "pktlogger match with 1,000 patterns: bytes a second from memory, and drops live", measure)
