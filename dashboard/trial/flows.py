"""How the flows of a trial shared its line, second by second: flows.parquet, which the trial's end wrote."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.core.congestion import flow_words
from dashboard.core.grouping import listed
from dashboard.core.runs import Json, Run, Trial
from netcommon import readable, trial_tables

F64 = NDArray[np.float64]
TABLE = "flows.parquet"
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
    than two. Times count from the first flow's first second."""

    flows: tuple[Flow, ...]
    total: Flow
    jain: F64
    line_bps: float


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
    """None for a trial with one flow, and for those of older runs."""
    file = trial.path / TABLE
    if not file.is_file():
        return None
    table = trial_tables.read(file)
    t0, t1, bps, total, jain = (
        np.asarray(table[name].to_numpy(zero_copy_only=False), np.float64)
        for name in ("t0_ns", "t1_ns", "bps", "flows_bps", "flow_jain")
    )
    names = np.asarray(table["flow_name"].to_pylist())
    begin, words = t0.min(), _words(run, trial)

    def of(name: str, rows: NDArray[np.int64], rates: F64) -> Flow:
        return Flow(name, (np.append(t0[rows], t1[rows[-1]]) - begin) / 1e9, rates[rows])

    seconds = np.unique(t0, return_index=True)[1]
    each = [of(words.get(name, name), np.flatnonzero(names == name), bps) for name in dict.fromkeys(names.tolist())]
    line = float(trial.params.get("rate_bps") or 0)
    return Seconds(tuple(each), of("all flows together", seconds, total), jain[seconds], line)


def _words(run: Run, trial: Trial) -> dict[str, str]:
    """The names of flows in a legend."""
    rows = listed([row for row in run.rows if row.get("trial") == trial.number])
    second = {"second": f"second, {trial.params.get('second')}"}
    return second | {str(row.get("flow_name") or "main"): flow_words(row, len(rows) + 1) for row in rows}
