"""log.push: how exact `pktlogger push` is on this machine, and how many packets a second it sends.

``rate``: the rate reached compared with the rate asked for, from 1 to 200,000 packets/s over a veth pair to a sink. The
bounds are 0.1 %. The note has how late packets left and by how much gaps were wrong.

Rates and replays are sent with the real-time priority of the delay box, 10.

``most``: the number of 1,442-byte packets per second without a set rate, compared with the best simple sender of this
machine: iperf3 -u, and a sendmmsg loop with and without segmentation offload. The best one of each pair is the base.
Both ends are on this machine, so the figures include the receiver's work. This work differs: a sink reads the numbers
in push's packets, but only counts the other senders' packets.

``alone``: the same without a receiver, to compare the senders themselves. The receiving host has no address, so its
kernel drops what arrives. The base is the sendmmsg loop with segmentation offload.

``replay``: by how much the gaps of a replay differ from those of its capture, as a capture at the other end sees them.
The bound is 50 us for 90 %. The note has the lateness of a sleeping process (the witness) at the same time.
"""

from __future__ import annotations

import math
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import pktlogger
from bench.log.gaps import write
from bench.registry import Bench, Place, Result, Row
from bench.two_hosts import iperf3, iperf3_result
from netcommon import netns
from netcommon.binaries import find
from netcommon.errors import LfpError
from netcommon.process import Tool
from scenarios.network.host_pair import ADDRESSES, MTU, NIC, Hosts, hosts, veth

NAME = "log.push"
PAIRS, SECONDS, OCTETS, SEGMENTS = 5, 5, 1414, 46
RATES = (1, 10, 100, 1_000, 10_000, 50_000, 100_000, 200_000)
PORT, PRIORITY = 5003, "10"


def measure(place: Place) -> Iterator[Result]:
    """A table of rates, pairs of the largest rate, the gaps of a replay, and pairs without a receiver."""
    with hosts(place.ledger) as pair:
        with veth(pair, MTU):
            yield Result(f"{NAME}.rate", "share", None, rows=[_rate(place, pair, pps) for pps in RATES])
            yield _most(place, pair)
            yield _replay(place, pair)
        with veth(pair, MTU):
            yield _alone(place, pair)


def _push(pair: Hosts, place: Place, *options: str | Path) -> dict[str, Any]:
    argv: list[str | Path] = [find("pktlogger"), "push", "--json", *options]
    with Tool(argv, netns_pid=pair.sender, name="pktlogger push", ledger=place.ledger) as push:
        return push.wait_event("end", 600)


def _to_sink(pair: Hosts, place: Place, *options: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The `end` events of push and sink."""
    argv: list[str | Path] = [find("pktlogger"), "sink", "--json", "--buffer", "256MB"]
    with Tool(argv, netns_pid=pair.receiver, name="pktlogger sink", ledger=place.ledger) as sink:
        sink.wait_event("ready", 30)
        sent = _push(pair, place, ADDRESSES[1], *options)
        return sent, sink.wait_event("end", 60)


def _rate(place: Place, pair: Hosts, pps: int) -> Row:
    seconds = max(place.seconds or 2 * SECONDS, math.ceil(10 / pps))
    asked = ["--pps", str(pps), "--duration", f"{seconds}s", "--size", "1442", "--priority", PRIORITY]
    sent, received = _to_sink(pair, place, *asked)
    late, gap = sent["late_ns"], sent["gap_error_ns"]
    note = f"late p50 {late['p50'] / 1e3:.1f} us, p99 {late['p99'] / 1e3:.1f} us, max {late['max'] / 1e3:.1f} us; "
    note += f"gaps wrong p50 {gap['p50'] / 1e3:.1f} us, p90 {gap['p90'] / 1e3:.1f} us; {received['lost']} lost, "
    note += f"messages lost at the sink's socket {received['socket_drops']}"
    place.say(f"{NAME}.rate {pps}: {sent['pps']:.4f} packets/s; {note}")
    return Row(f"rate of {pps} packets/s", "packets/s", sent["pps"], pps * 0.999, pps * 1.001, note)


def _most(place: Place, pair: Hosts) -> Result:
    seconds, pairs = place.seconds or SECONDS, []
    for number in range(1, (place.pairs or PAIRS) + 1):
        one: dict[str, Any] = {"iperf3": _iperf3_pps(place, pair, seconds)}
        one |= {name: _simple_pps(place, pair, seconds, each) for name, each in (("sendmmsg", 1), ("gso", SEGMENTS))}
        one["base"] = max(one.values())
        sent, received = _to_sink(pair, place, "--pps", "0", "--duration", f"{seconds}s", "--size", "1442")
        one |= {"ours": sent["pps"], "received": received["received"], "lost": received["lost"]}
        pairs.append(one)
        place.say(f"{NAME}.most {number}: " + ", ".join(f"{key} {value:.4g}" for key, value in one.items()))
    return Result(f"{NAME}.most", "packets/s", "the best simple sender", pairs)


def _iperf3_pps(place: Place, pair: Hosts, seconds: int) -> float:
    options = ["--udp", "--bitrate", "0", "--length", str(OCTETS), "--time", str(seconds)]
    with iperf3(pair, place.ledger, *options) as stream:
        sent = iperf3_result(stream, seconds + 60.0)["end"]["sum"]
    return float(sent["packets"] / sent["seconds"])


def _simple_pps(place: Place, pair: Hosts, seconds: int, each: int) -> float:
    """Packets per second of the sendmmsg loop towards a sink, which takes the packets and finds no header in them."""
    sink: list[str | Path] = [find("pktlogger"), "sink", "--json", "--buffer", "256MB", "--duration", f"{seconds + 1}s"]
    with Tool(sink, netns_pid=pair.receiver, name="pktlogger sink", ledger=place.ledger) as receiver:
        receiver.wait_event("ready", 30)
        return _loop_pps(place, pair, seconds, each)


def _loop_pps(place: Place, pair: Hosts, seconds: int, each: int) -> float:
    """Packets per second of the sendmmsg loop, with `each` packets per message."""
    sender = find("pktlogger").parent / "test" / "lfp-udp-sender"
    if not sender.exists():
        raise LfpError(f"{sender}: not there; `make build` builds it")
    argv: list[str | Path] = [sender, ADDRESSES[1], str(PORT), str(OCTETS), str(seconds), str(each)]
    with Tool(argv, netns_pid=pair.sender, json_lines=False, ledger=place.ledger) as simple:
        return float(simple.output(seconds + 60.0))


def _alone(place: Place, pair: Hosts) -> Result:
    """Compares the senders while no receiver takes the packets. They take turns at going first."""
    netns.call_in(pair.receiver, subprocess.run, ["ip", "address", "flush", "dev", NIC])
    seconds, pairs = place.seconds or SECONDS, list[dict[str, Any]]()
    for number in range(1, (place.pairs or PAIRS) + 1):
        one: dict[str, Any] = {}
        for name in ("base", "ours") if number % 2 else ("ours", "base"):
            if name == "base":
                one[name] = _loop_pps(place, pair, seconds, SEGMENTS)
            else:
                one[name] = _push(pair, place, ADDRESSES[1], "--pps", "0", "--duration", f"{seconds}s")["pps"]
        pairs.append(one)
        place.say(f"{NAME}.alone {number}: " + ", ".join(f"{key} {value:.4g}" for key, value in sorted(one.items())))
    return Result(f"{NAME}.alone", "packets/s", "sendmmsg with UDP_SEGMENT", pairs)


def _replay(place: Place, pair: Hosts) -> Result:
    """Replays a Poisson stream of 5,000 packets/s, captures it at the other end, and compares the gaps."""
    capture = write(place.scratch / "gaps.pcap", 5_000 * (place.seconds or SECONDS), 200_000)
    rows = []
    for number in range(1, (place.pairs or PAIRS) + 1):
        again = place.scratch / f"again{number}.pcapng"
        sent, witness = _replay_once(place, pair, capture, again)
        errors = np.abs(np.diff(_times(again)) - np.diff(_times(capture)))
        p90, p99 = (float(np.percentile(errors, share)) / 1e3 for share in (90, 99))
        note = f"p99 {p99:.1f} us; departures late p99 {sent['late_ns']['p99'] / 1e3:.1f} us; "
        note += f"a sleeping process late p99 {witness['p99_ns'] / 1e3:.1f} us"
        place.say(f"{NAME}.replay {number}: gaps wrong p90 {p90:.1f} us, {note}")
        rows.append(Row("gaps of a replay, wrong by, p90", "us", p90, 0, 50, note))
    return Result(f"{NAME}.replay", "share", None, rows=rows)


def _replay_once(place: Place, pair: Hosts, capture: Path, again: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The `end` events of push and of a timer-witness that ran meanwhile; the capture of the other end is in
    `again`."""
    argv: list[str | Path] = [
        find("pktlogger"),
        "capture",
        "--json",
        "-i",
        NIC,
        "-w",
        again,
        "--filter",
        "ether proto 0x88b5",
    ]
    asleep: list[str | Path] = [find("timer-witness"), "--json", "--priority", "0"]
    with Tool(argv, netns_pid=pair.receiver, name="pktlogger capture", ledger=place.ledger) as capturing:
        capturing.wait_event("ready", 30)
        with Tool(asleep, ledger=place.ledger) as witness:
            sent = _push(pair, place, "--replay", capture, "-i", NIC, "--priority", PRIORITY)
            late = witness.stop()
        capturing.stop(30)
    assert late is not None
    return sent, late


def _times(capture: Path) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        argv: list[str | Path] = [find("pktlogger"), "frames", capture, "-o", Path(folder) / "columns"]
        subprocess.run(argv, check=True, capture_output=True, timeout=60)
        return np.array(pktlogger.read_table(Path(folder) / "columns")["t_ns"])


BENCH = Bench(NAME, "pktlogger push: exact rates, packets a second compared with simple senders, replays", measure)
