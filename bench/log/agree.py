"""log.agree: captures of trials in virtual time, and whether the counts of pktlogger, tshark, tcptrace and the sender's
kernel agree. agree.toml has the paths; each is measured with selective acknowledgements and without. Captures that
scripts made (matrix.py) and that other people made (matrix_given.py) follow.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet

from bench.log import matrix, matrix_given, totals
from bench.registry import Bench, Place, Result, Row
from netcommon.errors import LfpError
from scenarios.plan.plan import load_plan
from scenarios.virtual import engine, kernel

NAME = "log.agree"
SCENARIO = Path(__file__).with_name("agree.toml")
SEED, FRAMES_SHOWN, SPURIOUS = 1995, 5, 3
METHOD = """
**Trials.** Each row up to `many-duplicate-acks` is a trial in virtual time with two captures: at the sender, and at the
other end of its connection (the receiver, or the gateway). The figure is the number of totals that agree. Compared are,
for both captures and both directions of the connection that carries the data:

| total | with |
|---|---|
| packets, payload bytes, packets with SACK blocks, packets with window 0 | tshark and tcptrace |
| duplicate acknowledgements, as Wireshark defines them (`tcp.analysis.duplicate_ack`) | tshark |
| bytes sent again | tcptrace, at the sender; the sender's kernel (`tcpi_bytes_retrans`) |
| segments sent again, data segments | the sender's kernel (`tcpi_total_retrans`, `tcpi_data_segs_out`) |
| spurious retransmissions, with SACK | the sender's kernel (`tcpi_dsack_dups`) |

There are three exceptions. A difference anywhere else is outside the bounds.

- tcptrace counts a FIN that is sent again as a byte, since it takes a sequence number. The bytes that it counts more
  must be as many as such FINs.
- The kernel counts DSACKs (RFC 2883). A packet that the network duplicated causes one, too. The packets with a
  DSACK must be as many as the kernel counts.
- A segment with a broken checksum arrives at the receiver's interface, and its TCP drops it. pktlogger looks at no
  checksums, so it calls the copy that repairs this spurious.

Packet numbers refer to the sender's capture. A window was 0 in the trials `zero-window` only."""


@dataclass
class Tally:
    """How many totals were compared, how many agree, and a text for each that differs."""

    compared: int = 0
    agree: int = 0
    said: list[str] = field(default_factory=list)
    wrong: int = 0

    def add(self, what: str, ours: int, theirs: int, because: str = "") -> None:
        """Compares two totals. `because` explains a difference; a difference without an explanation is wrong."""
        self.compared += 1
        self.agree += ours == theirs
        if ours != theirs:
            self.wrong += not because
            self.said.append(f"{what}: {ours} and {theirs}{because and '; ' + because}")


def measure(place: Place) -> Iterator[Result]:
    """One result: a row for each trial, where the virtual-time kernel is built, and the rows of captures that scripts
    and other people made."""
    totals.require()
    rows = []
    if why := kernel.missing():
        place.say(f"{NAME}: trials are left out: {why}")
    else:
        rows = _trials(place)
    place.say(f"{NAME}: the matrix of captures")
    rows += [*matrix_given.rows(), *matrix.rows()]
    yield Result(NAME, "of rows", None, rows=rows, method=METHOD.strip() + "\n\n" + matrix.method())


def _trials(place: Place) -> list[Row]:
    plan = load_plan(str(SCENARIO), seed=SEED)
    run_dir = place.scratch / "agree"
    (run_dir / "trials").mkdir(parents=True)
    place.say(f"{NAME}: {len(plan.trials)} trials in virtual time")
    engine.run_all(run_dir, list(plan.trials), place.ledger, os.cpu_count() or 1, "auto", lambda ended: None)
    return [_row(folder) for folder in sorted((run_dir / "trials").glob("[0-9]*"))]


def _row(trial: Path) -> Row:
    params, status = (json.loads((trial / f"{name}.json").read_text()) for name in ("params", "status"))
    if status["state"] != "done":
        raise LfpError(f"{NAME}: the trial {params['case']}, profile {params['profile']}, failed: {status['error']}")
    tally = Tally()
    _compare_tools(tally, trial)
    _compare_kernel(tally, trial, params)
    sack = "no SACK" if params["profile"] == "bsd-1995" else "SACK"
    explained = len(tally.said) - tally.wrong
    return Row(
        f"{params['case']}, {sack}",
        f"of {tally.compared}",
        tally.agree,
        tally.compared - explained,
        tally.compared,
        "; ".join(tally.said),
    )


def _compare_tools(tally: Tally, trial: Path) -> None:
    for capture in sorted((trial / "capture").glob("*.pcapng")):
        connection, ours = totals.by_pktlogger(capture)
        for tool, theirs in (
            ("tshark", totals.by_tshark(capture, connection)),
            ("tcptrace", totals.by_tcptrace(capture, connection)),
        ):
            for way in (0, 1):
                for what, value in ours[way].items():
                    if what not in theirs[way]:  # tcptrace counts no duplicate acknowledgements
                        continue
                    tally.add(f"{capture.stem}, direction {way}, {what}, {tool}", value, theirs[way][what])
        if capture.stem == "snd":
            ours_again, theirs_again = _main(trial)["retransmitted_bytes"], theirs[0]["bytes sent again"]
            because = _why_a_byte_more(capture, theirs_again - ours_again)
            tally.add("bytes sent again, tcptrace", ours_again, theirs_again, because)


def _why_a_byte_more(capture: Path, more: int) -> str:
    """An explanation where tcptrace counts one byte more for each retransmitted FIN."""
    explains = 0 < more == totals.fins_again(capture)
    return f"tcptrace counts each FIN that is sent again, {more} here, as a byte" if explains else ""


def _main(trial: Path) -> dict[str, Any]:
    summary = json.loads((trial / "summary.json").read_text())
    flow: dict[str, Any] = summary["flows"][summary["main_flow"]]
    return flow


def _compare_kernel(tally: Tally, trial: Path, params: dict[str, Any]) -> None:
    info, main = json.loads((trial / "transfer.json").read_text())["sender"]["tcp_info"], _main(trial)
    tally.add("bytes sent again, kernel", main["retransmitted_bytes"], info["bytes_retrans"])
    tally.add("segments sent again, kernel", main["retransmitted"], info["total_retrans"])
    tally.add("data segments, kernel", main["segments"], info["data_segs_out"])
    if params["profile"] != "bsd-1995":
        because = _why_not_spurious(trial, params, main, info["dsack_dups"])
        tally.add("spurious retransmissions, kernel", main["spurious"], info["dsack_dups"], because)


def _why_not_spurious(trial: Path, params: dict[str, Any], main: dict[str, Any], dsacks: int) -> str:
    """An explanation, where the path duplicates or corrupts, with the numbers of packets. `dsacks`: the kernel's."""
    if params["duplicate_ppb"]:
        frames = totals.dsack_frames(trial / "capture" / "snd.pcapng")
        # The kernel counts segments, and each packet reports one here.
        explains = frames.size == dsacks
        return "the network's duplicates bring DSACKs, too, in packets " + _shown(frames) if explains else ""
    if params["corrupt_ppb"]:
        segments = parquet.read_table(trial / "segments.parquet", columns=["flow", "kind", "sender_frame"])
        of_flow, kind, frame = (segments[name].to_numpy() for name in ("flow", "kind", "sender_frame"))
        found = frame[(of_flow == main["flow"]) & (kind == SPURIOUS)]
        return "copies of segments whose checksum was broken, packets " + _shown(found)
    return ""


def _shown(frames: np.ndarray) -> str:
    """A text with the first packet numbers, and how many there are."""
    first = ", ".join(str(frame) for frame in frames[:FRAMES_SHOWN])
    return first + (f" … ({frames.size} in all)" if frames.size > FRAMES_SHOWN else "")


BENCH = Bench(NAME, "totals of captures compared with tshark, tcptrace and the kernel; needs 'make virtual'", measure)
