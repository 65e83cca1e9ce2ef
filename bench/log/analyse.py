"""log.analyse: packets a second and peak memory of `pktlogger analyse`, compared with tcptrace and another build of
pktlogger on the same two captures.

The packets of both captures count. tcptrace analyses one end after the other without joining them; no program is more
similar. Where the environment has LFP_PKTLOGGER_BEFORE, the path of another build's pktlogger, each pair measures that,
too.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.log.command import cost
from bench.log.conversation import write
from bench.log.index import LARGE_FILES, PACKETS, PAIRS, Round, rate, results, said
from bench.registry import Bench, Place, Result
from netcommon.binaries import find

NAME = "log.analyse"
BEFORE = "LFP_PKTLOGGER_BEFORE"


def measure(place: Place) -> Iterator[Result]:
    """One result."""
    packets = place.packets or PACKETS
    place.say(f"{NAME}: makes captures of {packets:,} packets together")
    with tempfile.TemporaryDirectory(prefix="lfp-log-", dir=LARGE_FILES) as made:
        folder = Path(made)
        files = write(folder, packets // 2)
        rounds = [_round(place, folder, files, packets, number) for number in range(1, (place.pairs or PAIRS) + 1)]
    yield from results(NAME, rounds, packets, ("analyse",))


def _round(place: Place, folder: Path, files: tuple[Path, Path], packets: int, number: int) -> Round:
    joined = folder / "joined"
    argv: list[str | Path] = ["analyse", "--sender", files[0], "--receiver", files[1], "-o", joined, "--json"]
    builds: dict[str, str | Path] = {"analyse": find("pktlogger")}
    if os.environ.get(BEFORE):
        builds["before"] = os.environ[BEFORE]
    round_: Round = {}
    for build, tool in builds.items():
        round_[build] = rate(packets, cost([tool, *argv]))
        shutil.rmtree(joined)
    if shutil.which("tcptrace"):
        round_["tcptrace"] = rate(packets, cost(["tcptrace", "-n", "-l", "-r", *files]))
    place.say(said(NAME, number, round_))
    return round_


BENCH = Bench(NAME, "pktlogger analyse, both ends, compared with tcptrace and another build", measure)
