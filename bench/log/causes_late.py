"""Causes of losses where time stamps are late, against the box's record: by cause, control and how late they are.

The captures of a trial in virtual time are exact. Here each packet's time stamp is made late by a random time, drawn
separately for each end, and the captures are analysed again without the record. A departure is late by the path's delay
at most, because a packet does not arrive before it leaves.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import pktlogger
from bench.log.causes_trials import CONTROLS
from bench.log.causes_truth import main_flow
from netcommon.binaries import find
from scenarios.plan.plan import Trial

LATE_MS = (0, 1, 3)
RIGHT, SIDE_OPEN, UNKNOWN, WRONG = "right", "side open", "cannot tell", "wrong"
Verdicts = Counter[tuple[str, str, int, str]]  # by cause, control, lateness in ms and judgement
I64 = npt.NDArray[np.int64]
_BLOCK_HEADER, _PACKET = 8, 6  # pcapng: type and length of a block; an Enhanced Packet Block
_TIME, _SOURCE = 12, 28 + 14 + 12  # offsets in such a block: upper half of the time; IPv4 source behind Ethernet


def verdicts(folder: Path, kind: str, trial: Trial) -> Verdicts:
    """How the losses of a trial's main flow are judged, for each of LATE_MS."""
    truth = _truth(folder, kind)
    verdicts_by_lateness = Verdicts()
    for late_ms in LATE_MS:
        judged = _judged(folder, trial, late_ms)
        for part, cause in truth.items():
            how = _how(cause, judged.get(part, "unknown"))
            verdicts_by_lateness[cause, str(trial.setting.transfer.congestion), late_ms, how] += 1
    return verdicts_by_lateness


def _how(cause: str, judged: str) -> str:
    if judged == "unknown":
        return UNKNOWN
    if judged == "random" and cause.startswith("random"):
        return SIDE_OPEN
    return RIGHT if judged == ("aqm" if cause.startswith("aqm") else cause) else WRONG


def _truth(folder: Path, kind: str) -> dict[tuple[int, int], str]:
    """The true cause of each lost part, from the record. A part's key is its frame and its first byte."""
    losses, names = main_flow(folder, "losses")
    segments, _ = main_flow(folder, "segments")
    frames = {(seq, t_ns): frame for seq, t_ns, frame in _rows(segments, "seq", "t_sent_ns", "sender_frame")}
    causes = {}
    for seq, t_ns, number in _rows(losses, "seq", "t_sent_ns", "cause"):
        cause = names["cause"][number]
        if cause == "capture_loss":
            continue
        causes[frames[seq, t_ns], seq] = f"aqm, {kind}" if cause == "aqm" else cause
    return causes


def _rows(table: dict[str, npt.NDArray[Any]], *names: str) -> list[tuple[int, ...]]:
    return list(zip(*(table[name].tolist() for name in names), strict=True))


def _judged(folder: Path, trial: Trial, late_ms: int) -> dict[tuple[int, int], str]:
    """For each part that the captures call lost, the cause that they alone show."""
    with tempfile.TemporaryDirectory() as made:
        files = [Path(made) / f"{point}.pcapng" for point in ("snd", "rcv")]
        for end, file in enumerate(files):
            draw = np.random.default_rng([trial.number, end])
            _make_late(folder / "capture" / file.name, file, late_ms, end, trial.setting.path.rtt_ns() // 2, draw)
        argv: list[str | Path] = [find("pktlogger"), "analyse", "--sender", files[0], "--receiver", files[1]]
        subprocess.run([*argv, "-o", Path(made) / "o"], check=True, stdout=subprocess.DEVNULL, timeout=60)
        seen = pktlogger.read_analysis(Path(made) / "o")
    flow, names = seen.summary["main_flow"], seen.summary["loss_causes"]
    tables = []
    for table in (seen.segments, seen.losses):
        here = table["flow"].to_numpy() == flow if table.num_rows else np.zeros(0, np.bool_)
        tables.append({name: table[name].to_numpy()[here] for name in table.column_names})
    frames = {(seq, t_ns): frame for seq, t_ns, frame in _rows(tables[0], "seq", "t_sent_ns", "sender_frame")}
    lost = _rows(tables[1], "seq", "t_sent_ns", "seen_cause")
    return {(frames[seq, t_ns], seq): names[cause] for seq, t_ns, cause in lost}


def _make_late(source: Path, target: Path, late_ms: int, end: int, most_ns: int, draw: np.random.Generator) -> None:
    """Copies a capture. ``end``: 0 the sender's, whose first packet leaves, 1 the receiver's, where it arrives."""
    octets = np.frombuffer(source.read_bytes(), np.uint8).copy()
    blocks = _packets(octets)
    time = (blocks[:, None] + _TIME + np.arange(8)).reshape(-1, 2, 4)
    halves = octets[time].reshape(-1, 8).view("<u4").astype(np.int64)
    from_first = octets[blocks[:, None] + _SOURCE + np.arange(4)]
    leaves = (from_first == from_first[0]).all(axis=1) == (end == 0)
    late = (draw.exponential(late_ms * 1e6, blocks.size)).astype(np.int64)
    t_ns = (halves[:, 0] << 32) + halves[:, 1] + np.where(leaves, np.minimum(late, most_ns * 9 // 10), late)
    both = np.stack([t_ns >> 32, t_ns & 0xFFFFFFFF], axis=1).astype("<u4")
    octets[time] = both.view(np.uint8).reshape(-1, 2, 4)
    target.write_bytes(octets.tobytes())


def _packets(octets: npt.NDArray[np.uint8]) -> I64:
    """Where the packets' blocks begin."""
    words, at, blocks = octets[: octets.size // 4 * 4].view("<u4"), 0, []
    while at + _BLOCK_HEADER <= octets.size:
        if words[at // 4] == _PACKET:
            blocks.append(at)
        at += int(words[at // 4 + 1])
    return np.asarray(blocks, np.int64)


def table(verdicts: Verdicts) -> str:
    """A row for each cause and control, three figures for each of LATE_MS: right, cannot tell, wrong."""
    head = [f"{late_ms} ms: {how}" for late_ms in LATE_MS for how in (RIGHT, SIDE_OPEN, UNKNOWN, WRONG)]
    lines = ["| cause | control | losses | " + " | ".join(head) + " |", "|---|---|" + "---:|" * (len(head) + 1)]
    for cause in sorted({one for one, *_ in verdicts}):
        for control in CONTROLS:
            losses = sum(verdicts[cause, control, 0, how] for how in (RIGHT, SIDE_OPEN, UNKNOWN, WRONG))
            cells = [
                f"{verdicts[cause, control, late_ms, how] / losses:.1%}" if losses else "–"
                for late_ms in LATE_MS
                for how in (RIGHT, SIDE_OPEN, UNKNOWN, WRONG)
            ]
            lines.append(f"| {cause} | {control} | {losses} | {' | '.join(cells)} |")
    return "\n".join(lines)


def most_wrong(verdicts: Verdicts) -> float:
    """The largest share of wrong names in a row of the table, at any lateness."""
    rows = {(cause, control, late_ms) for cause, control, late_ms, _ in verdicts}
    totals = {row: sum(verdicts[(*row, how)] for how in (RIGHT, SIDE_OPEN, UNKNOWN, WRONG)) for row in rows}
    return max((verdicts[(*row, WRONG)] / totals[row] for row in rows), default=0.0)
