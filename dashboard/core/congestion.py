"""Congestion controls over time, from the TCP_INFO samples of trials; this needs no capture.

Windows are in segments. `words` has the figures that an algorithm reports of itself (TCP_CC_INFO, columns `cc_0` … of
the samples), under its own names. Trials that are set side by side differ only in the congestion control, or in the
profile or case that brings it. A `Pair` compares a trial of one of rttcp's algorithms with a trial of the kernel's own
algorithm of the same name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dashboard.core.grouping import heading, listed
from dashboard.core.runs import FLOWS, SAMPLES, Json, Run, behind_gateway
from netcommon import readable, trial_tables
from scenarios.plan import cells, columns

F64 = NDArray[np.float64]
WORDS = {"lfp_xys": ("x", "y", "s"), "lfp_prague": ("α",)}  # each counted in 1/65536 (rttcp/cc/kernel/tcp_lfp.c)
TWINS = {"lfp_hstcp": "highspeed", "lfp_scalable": "scalable", "lfp_htcp": "htcp"}
PAIR_WITHIN = 0.1  # a pair agrees if throughput and window differ by at most this
_NO_THRESHOLD = 0x7FFFFFFF
_Q16 = 65536
MOST = 8  # lines in one figure
_BRINGS = ("congestion", "profile", "case")  # settings that come with a congestion control
_COLUMNS = ("t_ns", "snd_cwnd", "snd_ssthresh", "ca_state")


@dataclass(frozen=True)
class Control:
    """One sender's congestion control over time. `ssthresh` is NaN before the first loss; `open` is false in
    recovery. ``began_ns``: CLOCK_MONOTONIC at the first sample, from which ``t_s`` counts."""

    trial: int
    name: str
    t_s: F64
    cwnd: F64
    ssthresh: F64
    open: NDArray[np.bool_]
    words: dict[str, F64]
    began_ns: int = 0


@dataclass(frozen=True)
class Pair:
    """Our algorithm and the kernel's own, in trials that differ in nothing else: their throughput, and the greatest
    difference of their windows outside recovery, as a share. `setting`: words that distinguish this pair from the
    others."""

    ours: Control
    kernel: Control
    ours_bps: float
    kernel_bps: float
    window_apart: float
    setting: str = ""

    @property
    def agrees(self) -> bool:
        return abs(self.ours_bps / self.kernel_bps - 1) <= PAIR_WITHIN and self.window_apart <= PAIR_WITHIN


def load(run: Run, number: int) -> Control | None:
    """The congestion control of the first stream of [transfer]'s flow; None without samples."""
    trial = run.trial(number)
    return _load(number, str(trial.params.get("congestion") or ""), trial.path / SAMPLES)


def of_row(run: Run, row: Json) -> Control | None:
    """The congestion control of the flow that a row of the results is about; None without samples."""
    folder = run.trial(int(row["trial"])).path
    own = folder / FLOWS / str(row.get("flow_name")) if row.get("flow") else folder
    return _load(int(row["trial"]), str(row.get("congestion") or ""), own / SAMPLES)


def of_flows(run: Run, number: int) -> list[Control]:
    """The controls of all flows of a trial that have samples, each under its flow's name and on the clock of the
    first."""
    rows = listed([row for row in run.rows if row.get("trial") == number]) or [run.trial(number).params]
    found = [(row, own) for row in rows if (own := of_row(run, row)) is not None]
    first_ns = min((own.began_ns for _, own in found), default=0)
    return [
        replace(own, name=flow_words(row, len(rows)), t_s=own.t_s + (own.began_ns - first_ns) / 1e9)
        for row, own in found
    ]


def flow_words(row: Json, flows: int) -> str:
    """`rival, bbr`: a flow in a legend. A flow that is alone is known by its congestion control."""
    words = [str(row["flow_name"])] if flows > 1 and row.get("flow_name") else []
    return ", ".join([*words, str(row.get("congestion") or "")])


def _load(number: int, name: str, file: Path) -> Control | None:
    if not file.is_file():
        return None
    names = trial_tables.names(file)
    if not set(_COLUMNS) <= set(names):
        return None
    words = [name for name in (f"cc_{n}" for n in range(5)) if name in names]
    wanted = [*_COLUMNS, *words, *(["stream"] if "stream" in names else [])]
    table = trial_tables.read(file, wanted)
    columns = {name: table[name].to_numpy() for name in wanted}
    if "stream" in columns and len(columns["stream"]):
        first = columns["stream"] == columns["stream"].min()
        columns = {name: column[first] for name, column in columns.items()}
    if len(columns["t_ns"]) < 2:
        return None
    return _control(number, name, columns)


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
        int(columns["t_ns"][0]),
    )


@dataclass(frozen=True)
class Chosen:
    """Trials whose congestion windows are shown together, one for each congestion control, and a sentence that names
    their common settings."""

    controls: tuple[Control, ...]
    note: str


def chosen(run: Run) -> Chosen | None:
    """One trial for each congestion control: its first repeat at the largest window. All of them have the same other
    settings. None when the run has only one congestion control. Trials with gateways do not count, because their
    senders see only the path to the near gateway."""
    plain = [row for row in run.rows if not behind_gateway(row)]
    rows = sorted(listed(plain), key=lambda row: -(row.get("window_bytes") or 0))
    telling = cells.telling(rows, (), ["congestion", *cells.preferred(run.sweep)])
    fixed = [name for name in telling if name not in _BRINGS]
    candidates = cells.groups(rows, fixed)
    many = {key: len({row.get("congestion") for row in own}) for key, own in candidates.items()}
    if max(many.values(), default=0) < 2:
        return None
    place = max(many, key=lambda key: many[key])  # max takes the first of equals: the largest window
    lines = cells.groups(candidates[place], _BRINGS)
    first = sorted((own[0] for own in lines.values()), key=lambda row: int(row["trial"]))
    names = cells.texts(first, cells.telling(first, (), ["congestion"]) or ["congestion"])
    shown = list(zip(_names(names, first), first, strict=True))[:MOST]
    found = [replace(own, name=name) for name, row in shown if (own := of_row(run, row)) is not None]
    left = f" {len(first) - len(shown)} more are not shown." if len(first) > len(shown) else ""
    flow = next((f" of flow {row['flow_name']}" for row in first if row.get("flow")), "")
    return Chosen(tuple(found), f"One trial a congestion control, its first repeat{_at(run, rows, fixed, place)}, from "
                  f"TCP_INFO{flow}.{left}") if found else None  # fmt: skip


def _names(names: dict[cells.Key, str], rows: Sequence[Json]) -> Iterable[str]:
    """The texts that name these rows, in order; each row is a group of its own."""
    assert len(names) == len(rows)
    return names.values()


def _at(run: Run, rows: Sequence[Json], fixed: Sequence[str], place: cells.Key) -> str:
    """`, at transfer.window 256 KB, path.queue 30 KB`: the values of the settings that differ in the run."""
    said = []
    for name, value in zip(fixed, place, strict=True):
        values = list(dict.fromkeys(row.get(name) for row in rows))
        text = dict(zip(values, readable.distinct(name, values), strict=True))[value]
        said.append(f"{heading(run, name)} {'default' if value is None else text}")
    return f", at {', '.join(said)}" if said else ""


def pairs(run: Run) -> list[Pair]:
    """Every algorithm of rttcp that was run at the same settings as the kernel's algorithm of the same name. Each side
    is represented by its first valid repeat, which also gives the throughput."""
    good = [row for row in listed(run.rows) if row.get("valid") and row.get("short_term_bps")]
    same = [name for name in columns.settings() if name not in ("congestion", "case")]
    shown = [name for name in cells.telling(good, (), cells.preferred(run.sweep)) if name in same]
    texts, found = cells.texts(good, shown), []
    for own in cells.groups(good, same).values():
        first: dict[str, Json] = {}
        for row in own:
            first.setdefault(str(row.get("congestion") or ""), row)
        setting = texts[cells.key(own[0], shown)]
        for ours, kernel in TWINS.items():
            if ours in first and kernel in first and (pair := _pair(run, first[ours], first[kernel])):
                found.append(replace(pair, setting=setting))
    return found


def _pair(run: Run, ours: Json, kernel: Json) -> Pair | None:
    mine, theirs = of_row(run, ours), of_row(run, kernel)
    if mine is None or theirs is None:
        return None
    rates = float(ours["short_term_bps"]), float(kernel["short_term_bps"])
    return Pair(mine, theirs, rates[0], rates[1], window_apart(mine, theirs))


def window_apart(ours: Control, kernel: Control) -> float:
    """The greatest |ours / kernel's - 1| of the windows at the times of our samples, where neither is in recovery."""
    last = min(ours.t_s[-1], kernel.t_s[-1])
    mine = ours.t_s <= last
    at = np.clip(np.searchsorted(kernel.t_s, ours.t_s[mine], side="right") - 1, 0, len(kernel.t_s) - 1)
    both = ours.open[mine] & kernel.open[at]
    ratio = ours.cwnd[mine][both] / np.maximum(kernel.cwnd[at][both], 1)
    return float(np.abs(ratio - 1).max()) if ratio.size else float("nan")
