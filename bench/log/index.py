"""log.index: packets a second and peak memory of `pktlogger index`, compared with tcptrace, tshark and `tcpdump -r`.

The capture is headers only and in the page cache, if it fits. Each pair measures ours and then every other tool that is
installed. tshark reads only the first 500,000 packets, because it is slower by two orders of magnitude. `cp` copies the
capture: where it does not fit into the page cache, that is what the disk allows. A last result is the columns written
as Parquet.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.log.command import Cost, cost
from bench.log.conversation import write
from bench.registry import Bench, Place, Result
from netcommon.binaries import find

NAME = "log.index"
PACKETS, PAIRS, TSHARK_PACKETS = 5_000_000, 3, 500_000
LARGE_FILES = Path("/var/tmp")  # /run and /tmp may be memory
Round = dict[str, dict[str, float]]
_PARQUET = "import sys, pktlogger; pktlogger.to_parquet(*sys.argv[1:])"
_IMPORT = "import sys, pktlogger"
_FIELDS = ("frame.number", "frame.time_epoch", "tcp.stream", "tcp.seq", "tcp.ack", "tcp.len", "tcp.window_size")


def measure(place: Place) -> Iterator[Result]:
    """A result for every other tool, and one for Parquet."""
    packets = place.packets or PACKETS
    place.say(f"{NAME}: makes a capture of {packets:,} packets")
    with tempfile.TemporaryDirectory(prefix="lfp-log-", dir=LARGE_FILES) as made:
        folder = Path(made)
        file, other = write(folder, packets)
        other.unlink()
        rounds = [_round(place, folder, file, packets, number) for number in range(1, (place.pairs or PAIRS) + 1)]
    yield from results(NAME, rounds, packets, ("index", "parquet"))


def results(name: str, rounds: list[Round], packets: int, own: tuple[str, ...]) -> Iterator[Result]:
    """The results of `rounds`, which hold `rate` and `memory_bytes` of each tool. `own`: names that are not other
    tools; the first of them is compared with the other tools."""
    others = [tool for tool in rounds[0] if tool not in own]
    for tool in others:
        pairs: list[dict[str, Any]] = [{"ours": one[own[0]]["rate"], "base": one[tool]["rate"]} for one in rounds]
        memory = {"memory_MB": _most_mb(rounds, own[0]), f"{tool}_MB": _most_mb(rounds, tool)}
        memory["anonymous_MB"] = _most_mb(rounds, own[0], "anonymous_bytes")
        yield Result(name, "packets/s", tool, pairs, extra={"packets": packets, **memory})
    for variant in own[bool(others) :]:
        pairs = [{"ours": one[variant]["rate"]} for one in rounds]
        extra = {"variant": variant, "packets": packets, "memory_MB": _most_mb(rounds, variant)}
        yield Result(name, "packets/s", None, pairs, extra=extra)


def _most_mb(rounds: list[Round], tool: str, which: str = "memory_bytes") -> int:
    return round(max(one[tool][which] for one in rounds) / 1e6)


def rate(packets: int, found: Cost, less_s: float = 0.0) -> dict[str, float]:
    """An entry of a round."""
    return {
        "rate": packets / max(found.seconds - less_s, 1e-3),
        "memory_bytes": found.memory_bytes,
        "anonymous_bytes": found.anonymous_bytes,
    }


def said(name: str, number: int, round_: Round) -> str:
    """A line about a round."""
    figures = ", ".join(
        f"{tool} {one['rate'] / 1e6:.3g} M/s with {one['memory_bytes'] / 1e6:.0f} MB" for tool, one in round_.items()
    )
    return f"{name} {number}: {figures}"


def _round(place: Place, folder: Path, file: Path, packets: int, number: int) -> Round:
    columns, parquet = folder / "columns", folder / "index.parquet"
    round_ = {"index": rate(packets, cost([find("pktlogger"), "index", file, "-o", columns, "--json"]))}
    start_s = cost([sys.executable, "-c", _IMPORT]).seconds
    round_["parquet"] = rate(packets, cost([sys.executable, "-c", _PARQUET, columns, parquet]), start_s)
    shutil.rmtree(columns)
    parquet.unlink()
    round_["cp"] = rate(packets, cost(["cp", file, folder / "copy"]))
    (folder / "copy").unlink()
    for tool, argv in _others(file).items():
        if shutil.which(tool):
            read = min(packets, TSHARK_PACKETS) if tool == "tshark" else packets
            round_[tool] = rate(read, cost(argv))
    place.say(said(NAME, number, round_))
    return round_


def _others(file: Path) -> dict[str, list[str | Path]]:
    fields = [word for field in _FIELDS for word in ("-e", field)]
    return {
        "tcptrace": ["tcptrace", "-n", file],
        "tshark": ["tshark", "-n", "-r", file, "-c", str(TSHARK_PACKETS), "-T", "fields", *fields],
        "tcpdump": ["tcpdump", "-n", "-S", "-r", file],
    }


BENCH = Bench(NAME, "pktlogger index and its Parquet compared with tcptrace, tshark, tcpdump -r and cp", measure)
