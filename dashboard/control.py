"""What congestion controls did over time, from the TCP_INFO samples of trials; no capture needed.

Windows are in segments. `words` is what an algorithm tells of itself (TCP_CC_INFO, columns `cc_0` … of the samples),
under its own names. A `Pair` sets an algorithm of rttcp beside the kernel's own of the same name, trial beside trial.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dashboard.data import Json, Run

F64 = NDArray[np.float64]
WORDS = {"lfp_xys": ("x", "y", "s")}  # in 1/65536 each, rttcp/cc/kernel/tcp_lfp.c
TWINS = {"lfp_hstcp": "highspeed", "lfp_scalable": "scalable", "lfp_htcp": "htcp"}
PAIR_WITHIN = 0.1  # what counts as agreement of a pair, in throughput and in the window
_NO_THRESHOLD = 0x7FFFFFFF
_Q16 = 65536
_COLUMNS = ("t_ns", "snd_cwnd", "snd_ssthresh", "ca_state")


@dataclass(frozen=True)
class Control:
    """One sender's congestion control; `ssthresh` is NaN before the first loss, `open` false in recovery."""

    trial: int
    name: str
    t_s: F64
    cwnd: F64
    ssthresh: F64
    open: NDArray[np.bool_]
    words: dict[str, F64]


@dataclass(frozen=True)
class Pair:
    """Ours and the kernel's own: throughput, and the most that the windows are apart outside recovery, as a share."""

    ours: Control
    kernel: Control
    ours_bps: float
    kernel_bps: float
    window_apart: float

    @property
    def agrees(self) -> bool:
        return abs(self.ours_bps / self.kernel_bps - 1) <= PAIR_WITHIN and self.window_apart <= PAIR_WITHIN


def load(run: Run, number: int) -> Control | None:
    """The samples of a trial's first stream; None where there are none."""
    trial = run.trial(number)
    file = trial.path / "tcp_info.parquet"
    if not file.is_file():
        return None
    names = pq.read_schema(file).names
    if not set(_COLUMNS) <= set(names):
        return None
    words = [name for name in (f"cc_{n}" for n in range(5)) if name in names]
    wanted = [*_COLUMNS, *words, *(["stream"] if "stream" in names else [])]
    table = pq.read_table(file, columns=wanted)
    columns = {name: table[name].to_numpy() for name in wanted}
    if "stream" in columns and len(columns["stream"]):
        first = columns["stream"] == columns["stream"].min()
        columns = {name: column[first] for name, column in columns.items()}
    if len(columns["t_ns"]) < 2:
        return None
    return _control(number, str(trial.params.get("congestion") or ""), columns)


def _control(number: int, name: str, columns: dict[str, NDArray[np.int64]]) -> Control:
    ssthresh = columns["snd_ssthresh"].astype(np.float64)
    known = WORDS.get(name.split(":")[0], ())
    words = {word: columns[f"cc_{n}"] / _Q16 for n, word in enumerate(known) if f"cc_{n}" in columns}
    return Control(
        number,
        name,
        (columns["t_ns"] - columns["t_ns"][0]) / 1e9,
        columns["snd_cwnd"].astype(np.float64),
        np.where(ssthresh >= _NO_THRESHOLD, np.nan, ssthresh),
        columns["ca_state"] == 0,
        words,
    )


def chosen(run: Run, most: int = 8) -> list[Control]:
    """One trial a congestion control, its first repeat at the largest window; none when the run has only one. Trials
    with gateways do not count: their senders see no more of the path than the way to the near one."""
    first: dict[str, Json] = {}
    plain = [row for row in run.rows if row.get("gateway") in (None, "none")]
    for row in sorted(plain, key=lambda row: (-(row.get("window_bytes") or 0), int(row["trial"]))):
        first.setdefault(str(row.get("congestion") or ""), row)
    if len(first) < 2:
        return []
    rows = sorted(first.values(), key=lambda row: int(row["trial"]))[:most]
    return [found for row in rows if (found := load(run, int(row["trial"]))) is not None]


def pairs(run: Run) -> list[Pair]:
    """Every algorithm of rttcp whose twin was run too, the first repeat of each; throughputs are those trials'."""
    first: dict[str, Json] = {}
    for row in sorted(run.rows, key=lambda row: int(row["trial"])):
        if row.get("valid") and row.get("short_term_bps"):
            first.setdefault(str(row.get("congestion") or ""), row)
    found = []
    for ours, kernel in TWINS.items():
        if ours in first and kernel in first:
            pair = _pair(run, first[ours], first[kernel])
            found += [pair] if pair else []
    return found


def _pair(run: Run, ours: Json, kernel: Json) -> Pair | None:
    mine, theirs = load(run, int(ours["trial"])), load(run, int(kernel["trial"]))
    if mine is None or theirs is None:
        return None
    rates = float(ours["short_term_bps"]), float(kernel["short_term_bps"])
    return Pair(mine, theirs, rates[0], rates[1], window_apart(mine, theirs))


def window_apart(ours: Control, kernel: Control) -> float:
    """Greatest |ours / kernel's - 1| of the windows at the times of our samples, where neither is in recovery."""
    last = min(ours.t_s[-1], kernel.t_s[-1])
    mine = ours.t_s <= last
    at = np.clip(np.searchsorted(kernel.t_s, ours.t_s[mine], side="right") - 1, 0, len(kernel.t_s) - 1)
    both = ours.open[mine] & kernel.open[at]
    ratio = ours.cwnd[mine][both] / np.maximum(kernel.cwnd[at][both], 1)
    return float(np.abs(ratio - 1).max()) if ratio.size else float("nan")
