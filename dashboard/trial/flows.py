"""How the flows of a trial shared its line, second by second: flows.parquet, which the trial's end wrote."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dashboard.core.congestion import flow_words
from dashboard.core.grouping import listed
from dashboard.core.runs import Json, Run, Trial
from netcommon import readable, trial_tables

F64 = NDArray[np.float64]
TABLE = "flows.parquet"
WAYS = ("forward", "reverse")  # values of column `direction`
_NUMBERS = ("t0_ns", "t1_ns", "bps", "flows_bps", "flow_jain")
MEASURE = (
    "Rates are octets that arrived at the receivers, second by second; without captures, octets that were acknowledged "
    "or that the receivers' programs got, where what a repaired hole hands over at once beyond the line's rate counts "
    "in the seconds before. Jain's index is of the flows that ran all through a second."
)


@dataclass(frozen=True)
class Flow:
    """A flow's rates in the seconds in which it ran; `t_s`: their beginnings and the end of the last one."""

    name: str
    t_s: F64
    bps: F64


@dataclass(frozen=True)
class Seconds:
    """The flows in order; their total; and Jain's index of those that ran all through a second, NaN if these are fewer
    than two. Times count from the first flow's first second. ``back``: the same for the reverse direction, if flows
    send both ways at once."""

    flows: tuple[Flow, ...]
    total: Flow
    jain: F64
    line_bps: float
    back: Seconds | None = None


def sums(row: Json) -> list[str]:
    """A sentence about the span in which all flows ran; none in older runs."""
    lasted_ns, total = row.get("flows_common_ns"), row.get("flows_bps")
    if not lasted_ns:
        return []
    if total is None:
        return [f"All flows ran for {readable.duration(lasted_ns)}, which was counted too coarsely to compare them."]
    fair = readable.number(row["flow_jain"], 3)
    return [f"All flows ran for {readable.duration(lasted_ns)}: together {readable.rate(total)}, Jain's index {fair}."]


def load(run: Run, trial: Trial) -> Seconds | None:
    """The flows' rates second by second. None for a trial with one flow, and for trials of older runs."""
    file = trial.path / TABLE
    if not file.is_file():
        return None
    table = trial_tables.read(file)
    rows = {name: np.asarray(table[name].to_numpy(zero_copy_only=False), np.float64) for name in _NUMBERS}
    names = np.asarray(table["flow_name"].to_pylist())
    ways = np.asarray(table["direction"].to_pylist() if "direction" in table.column_names else [WAYS[0]] * names.size)
    words, begin = _words(run, trial), rows["t0_ns"].min()
    forth, back = (
        _seconds({name: values[ways == way] for name, values in rows.items()}, names[ways == way], words, begin)
        for way in WAYS
    )
    line, line_back = (float(trial.params.get(name) or 0) for name in ("rate_bps", "ba_rate_bps"))
    if forth is None:
        return None
    back = back and replace(back, line_bps=line_back or line)
    return replace(forth, line_bps=line, back=back)


def _seconds(rows: dict[str, F64], names: NDArray[np.str_], words: dict[str, str], begin: float) -> Seconds | None:
    """The rates in one direction, second by second; None if nothing was sent in it."""
    if not names.size:
        return None
    t0, t1 = rows["t0_ns"], rows["t1_ns"]

    def of(name: str, own: NDArray[np.int64], rates: F64) -> Flow:
        return Flow(name, (np.append(t0[own], t1[own[-1]]) - begin) / 1e9, rates[own])

    seconds = np.unique(t0, return_index=True)[1]
    each = [
        of(words.get(name, name), np.flatnonzero(names == name), rows["bps"]) for name in dict.fromkeys(names.tolist())
    ]
    return Seconds(tuple(each), of("all flows together", seconds, rows["flows_bps"]), rows["flow_jain"][seconds], 0.0)


def _words(run: Run, trial: Trial) -> dict[str, str]:
    """The names of flows in a legend."""
    rows = listed([row for row in run.rows if row.get("trial") == trial.number])
    second = {"second": f"second, {trial.params.get('second')}"}
    return second | {str(row.get("flow_name") or "main"): flow_words(row, len(rows) + 1) for row in rows}
