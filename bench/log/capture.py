"""log.capture: `pktlogger capture` of 1,500-byte packets as fast as iperf3 sends them, compared with tcpdump.

One CUBIC stream runs over a veth pair. The offloads of both hosts are off, so that every packet travels on its own. The
captures are at the receiver's interface, with the same snap length, ring and disk. Both write one file, which is
removed. In each round the stream runs without a capture, with tcpdump and with pktlogger, in turns that rotate; the
ratio compares the rates of the last two.

A first, longer run of pktlogger counts drops: 60 s, or ``--seconds``. Each round takes a fifth of that. The number of
packets in the file is compared with the interface's own counters.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.log.index import LARGE_FILES
from bench.registry import Bench, Place, Result, Row, scaled
from bench.two_hosts import iperf3
from netcommon.binaries import find
from netcommon.errors import LfpError
from netcommon.process import Tool
from scenarios.network.host_pair import MTU, NIC, Hosts, crossed, hosts, offloads_off, received, veth

NAME = "log.capture"
PAIRS, SECONDS, WARM_UP_S = 5, 60, 2
SNAP, RING_MB = 128, 64
_DROPPED = re.compile(r"^(\d+) packets? dropped by kernel", re.MULTILINE)
_COUNTED = re.compile(r"^(\d+) packets? captured", re.MULTILINE)
Counts = dict[str, int]
Capture = Callable[[Place, Hosts, Path, Callable[[], float]], tuple[float, Counts]]


def measure(place: Place) -> Iterator[Result]:
    """Yields the result of the pairs, and a table with the drops of the long run and the median ratio."""
    if not shutil.which("tcpdump"):
        raise LfpError("tcpdump: not installed, and log.capture compares with it; apt install tcpdump")
    seconds = place.seconds or SECONDS
    with tempfile.TemporaryDirectory(prefix="lfp-log-", dir=LARGE_FILES) as made, hosts(place.ledger) as pair:
        long_bps, long_run = _one(place, pair, Path(made), pktlogger, seconds)
        place.say(f"{NAME} {seconds} s: {scaled(long_bps, 'bit/s')}, {_said(long_run)}")
        rounds = range(1, (place.pairs or PAIRS) + 1)
        pairs = [_round(place, pair, Path(made), number, max(seconds // 5, 1)) for number in rounds]
    against = Result(NAME, "bit/s", "tcpdump", pairs, extra={"snap": SNAP, "ring_MB": RING_MB})
    yield against
    yield Result(f"{NAME}.bounds", "share", None, rows=_rows(long_bps, long_run, seconds, against))


def _rows(bps: float, counts: Counts, seconds: int, against: Result) -> list[Row]:
    dropped = counts["dropped"]
    bare = Result(NAME, "bit/s", "bare", [{"ours": one["ours"], "base": one["bare"]} for one in against.pairs])
    note = f"{counts['packets']} packets, {scaled(bps, 'bit/s')}"
    missed = counts["crossed"] - counts["packets"]
    assert against.ratio is not None and bare.ratio is not None
    return [
        Row(f"packets dropped in {seconds} s", "packets", dropped, 0, 0, note),
        Row("packets of the interface's counters that are not in the file", "packets", missed, 0, 0, "both directions"),
        Row("packets dropped in the rounds", "packets", sum(one["dropped"] for one in against.pairs), 0, 0),
        Row("rate, relative to tcpdump's, median", "ratio", against.ratio, 1, 1e9, f"{len(against.pairs)} pairs"),
        Row("rate, relative to no capture, median", "ratio", bare.ratio, 0, 1e9, "no bound is asked for"),
    ]


def _said(counts: Counts) -> str:
    return f"{counts['packets']} packets, {counts['dropped']} dropped"


def _round(place: Place, pair: Hosts, folder: Path, number: int, seconds: int) -> dict[str, Any]:
    """One measurement of each, in an order that changes from round to round."""
    turns: list[tuple[str, Capture]] = [("bare", nothing), ("base", tcpdump), ("ours", pktlogger)]
    shift = number % len(turns)
    one: dict[str, Any] = {}
    for name, capture in turns[shift:] + turns[:shift]:
        one[name], counts = _one(place, pair, folder, capture, seconds)
        one |= {"dropped" if name == "ours" else f"{name}_dropped": counts["dropped"]} if counts else {}
    rates = f"without {scaled(one['bare'], 'bit/s')}, tcpdump {scaled(one['base'], 'bit/s')}"
    place.say(
        f"{NAME} {number}: {rates} ({one['base_dropped']} dropped), pktlogger {scaled(one['ours'], 'bit/s')} "
        f"({one['dropped']} dropped), ratio {one['ours'] / one['base']:.3f}"
    )
    return one


def _one(place: Place, pair: Hosts, folder: Path, capture: Capture, seconds: int) -> tuple[float, Counts]:
    """The rate at the receiver, and what the capture counted: `packets`, `dropped` and, with pktlogger, `crossed`."""
    file = folder / "capture"
    with veth(pair, MTU):
        offloads_off(pair)
        try:
            return capture(place, pair, file, lambda: _stream_bps(place, pair, seconds))
        finally:
            file.unlink(missing_ok=True)


def _stream_bps(place: Place, pair: Hosts, seconds: int) -> float:
    options = ["--time", str(WARM_UP_S + seconds + 30), "--congestion", "cubic", "--length", "128K"]
    with iperf3(pair, place.ledger, *options):
        time.sleep(WARM_UP_S)
        began, before = time.monotonic(), received(pair)[0]
        time.sleep(seconds)
        return (received(pair)[0] - before) * 8 / (time.monotonic() - began)


def nothing(_place: Place, _pair: Hosts, _file: Path, stream: Callable[[], float]) -> tuple[float, Counts]:
    """No capture."""
    return stream(), {}


def pktlogger(place: Place, pair: Hosts, file: Path, stream: Callable[[], float]) -> tuple[float, Counts]:
    """``pktlogger capture``. `crossed` has the packets of the interface's counters, in both directions."""
    argv: list[str | Path] = [find("pktlogger"), "capture", "--json", "-i", NIC, "-w", file]
    argv += ["--snap", f"{SNAP}B", "--buffer", f"{RING_MB}MB"]
    with Tool(argv, netns_pid=pair.receiver, name="pktlogger capture", ledger=place.ledger) as tool:
        tool.wait_event("ready", 30)
        before = crossed(pair)
        bps = stream()
        after = crossed(pair)
        end = tool.stop(60)
    if end is None:
        raise LfpError("pktlogger capture: wrote no 'end' line in a bench")
    (point,) = end["points"]
    dropped = sum(point[f"dropped_{where}"] for where in ("kernel", "interface", "ring"))
    return bps, {"packets": point["packets"], "dropped": dropped, "crossed": after - before}


def tcpdump(place: Place, pair: Hosts, file: Path, stream: Callable[[], float]) -> tuple[float, Counts]:
    """``tcpdump -w`` with the same snap length and ring; its counts come on stderr."""
    argv = ["tcpdump", "-i", NIC, "-s", str(SNAP), "-B", str(RING_MB << 10), "-Z", "root"]
    argv += ["--time-stamp-precision=nano", "-w", str(file)]
    shell = ["sh", "-c", 'exec "$@" 2>&1', "sh", *argv]
    with Tool(shell, netns_pid=pair.receiver, name="tcpdump", json_lines=False, ledger=place.ledger) as tool:
        _wait_listening(tool)
        bps = stream()
        tool.stop(60)
        return bps, tcpdump_counts("".join(event["text"] for event in tool.events()))


def tcpdump_counts(said: str) -> Counts:
    """The counts that tcpdump prints at its end."""
    packets, dropped = _COUNTED.search(said), _DROPPED.search(said)
    if not packets or not dropped:
        raise LfpError(f"tcpdump: gave no counts at its end: {said.strip()[-200:]!r}")
    return {"packets": int(packets[1]), "dropped": int(dropped[1])}


def _wait_listening(tool: Tool) -> None:
    deadline = time.monotonic() + 30
    while not any("listening on" in event["text"] for event in tool.events()):
        if time.monotonic() > deadline or not tool.running():
            raise LfpError("tcpdump: does not listen")
        time.sleep(0.01)


BENCH = Bench(
    NAME, "pktlogger capture of 1,500-byte packets compared with tcpdump: drops, and the rate of the stream", measure
)
