"""How far a run is that is under way: its progress.json, and the figures that grow while a trial runs
(docs/reference/interfaces.md, "Run directory").

Invariants: a file is read from where the last reading ended, and one state serves all browsers. A connection keeps at
most `MOST_SAMPLES`: beyond that every second one is dropped, so a long trial is kept as a whole, but coarser. Rejected:
reading the captures of a running trial. Indexing them again and again would take processor time from the measurement.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dashboard.core.runs import Json

LIVE = "live.jsonl"
FIGURES = ("t_ns", "acked_bytes", "sent_bytes", "retransmits", "cwnd_bytes", "rtt_ns")
MOST_SAMPLES = 8000
_MOST_FILES = 16
_MOST_BYTES = 8 << 20  # read at a time
F64 = NDArray[np.float64]


@dataclass(frozen=True)
class TrialUnderWay:
    """A trial that runs. ``clock_s``, ``of_s`` and ``speed``: in virtual time, as scenarios.virtual.under_way.Look;
    None in real time."""

    number: int
    say: str
    left_s: float
    clock_s: float | None
    of_s: float | None
    speed: float | None


@dataclass(frozen=True)
class UnderWay:
    """A run under way. ``left_s``: wall time, None where it is not known."""

    planned: int
    done: int
    left_s: float | None
    trials: tuple[TrialUnderWay, ...]


@dataclass(frozen=True)
class Grown:
    """The samples of one connection so far. ``t_s``: since the trial's first sample; the others by `FIGURES`."""

    name: str
    t_s: F64
    figures: dict[str, F64]

    def goodput_bps(self) -> F64:
        """The rate of acknowledged data since the previous sample; NaN at the first one."""
        grown, spent_s = np.diff(self.figures["acked_bytes"]), np.maximum(np.diff(self.t_s), 1e-6)
        return np.concatenate([[np.nan], 8 * grown / spent_s])


def under_way(run: Path, now_realtime_ns: int) -> UnderWay | None:
    """How far the run is now; None when no process works on it. Remaining times are reduced by the time since they were
    written."""
    if not _has_runner(run):
        return None
    try:
        content: Json = json.loads((run / "progress.json").read_text(encoding="utf-8"))
        age_s = max((now_realtime_ns - int(content["written_realtime_ns"])) / 1e9, 0.0)
        trials = tuple(_trial(one, age_s) for one in content["under_way"])
        return UnderWay(int(content["planned"]), int(content["done"]), max(content["left_s"] - age_s, 0.0), trials)
    except (OSError, ValueError, KeyError, TypeError):
        return UnderWay(0, 0, None, ())  # the run begins or ends at this moment


def _trial(one: Json, age_s: float) -> TrialUnderWay:
    left_s = max(float(one["left_s"]) - age_s, 0.0)
    clock = (one.get(name) for name in ("clock_s", "of_s", "speed"))
    return TrialUnderWay(int(one["trial"]), str(one["say"]), left_s, *clock)


def _has_runner(run: Path) -> bool:
    """Whether a process holds the lock of the run's runner."""
    try:
        opened = os.open(run / "trials", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(opened)
    return False


@dataclass
class _File:
    """A file of samples, read up to `offset`."""

    inode: int = 0
    offset: int = 0
    rows: dict[str, list[tuple[float, ...]]] = field(default_factory=dict)


class Growing:
    """The samples of running trials, by file."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: OrderedDict[Path, _File] = OrderedDict()

    def look(self, run: Path, trial: int) -> list[Grown]:
        """The samples of a running trial's connections, the one with most data first. When the file is gone because the
        transfer has ended, the samples read so far stay."""
        path = run / "trials" / f".{trial:04d}.tmp" / LIVE
        with self._lock:
            known = self._files.setdefault(path, _File())
            self._files.move_to_end(path)
            while len(self._files) > _MOST_FILES:
                self._files.popitem(last=False)
            _read_on(known, path)
            found = {name: np.asarray(rows, np.float64).T for name, rows in known.rows.items()}
        first = min((float(values[0, 0]) for values in found.values()), default=0.0)
        grown = [
            Grown(name, (values[0] - first) / 1e9, dict(zip(FIGURES, values, strict=True)))
            for name, values in found.items()
        ]
        return sorted(grown, key=lambda one: -one.figures["acked_bytes"][-1])


def _read_on(known: _File, path: Path) -> None:
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_ino != known.inode or status.st_size < known.offset:
                known.inode, known.offset, known.rows = status.st_ino, 0, {}
            file.seek(known.offset)
            data = file.read(_MOST_BYTES)
    except OSError:
        return
    whole = data[: data.rfind(b"\n") + 1]
    known.offset += len(whole)
    for line in whole.splitlines():
        _take(known, line)


def _take(known: _File, line: bytes) -> None:
    """Takes a line; a line in another format is ignored."""
    try:
        one = json.loads(line)
        name, row = f"{one['local']} → {one['remote']}", tuple(float(one[figure]) for figure in FIGURES)
    except (ValueError, KeyError, TypeError):
        return
    rows = known.rows.setdefault(name, [])
    rows.append(row)
    if len(rows) > MOST_SAMPLES:
        del rows[1::2]
