"""Latencies of exchanges by setting: for each setting of a run the distribution over all exchanges of its valid trials,
from latencies.parquet. Flent draws the same as a box for each test and as a cumulative distribution."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dashboard.core import latencies
from dashboard.core.grouping import split
from dashboard.core.parts import Table
from dashboard.core.runs import FLOWS, Json, Run
from netcommon import readable

F64 = NDArray[np.float64]
MOST = 24  # settings in the figure
QUANTILES = np.unique(np.concatenate([np.linspace(0, 0.99, 100), np.linspace(0.99, 1, 21)]))
SAYS = (
    "All exchanges of the valid trials of a setting. Box: quartiles and median; its lines reach from the 1st to the "
    "99th percentile."
)


@dataclass(frozen=True)
class Setting:
    """A setting, and its latencies at QUANTILES, ns. ``many``: the number of exchanges; ``trials``: the number of
    trials."""

    name: str
    ns: F64
    many: int
    trials: int

    def at(self, share: float) -> float:
        """A quantile, ns."""
        return float(np.interp(share, QUANTILES, self.ns))


def build(run: Run) -> list[Setting]:
    """The latencies of at most MOST settings, in listed order; empty where no trial has a record of each exchange."""
    rows = [row for row in run.rows if row.get("valid") and row.get("exchanges_per_s") and _file(run, row).is_file()]
    found = []
    for group in split(run, rows, (), ()) if rows else []:
        took = np.sort(np.concatenate([latencies.read(_file(run, row))[1] for row in group.rows]))
        if took.size:
            name = group.name or str(group.rows[0].get("flow_name") or "main")
            found.append(Setting(name, np.quantile(took, QUANTILES, method="inverted_cdf"), took.size, len(group.rows)))
    return found[:MOST]


def _file(run: Run, row: Json) -> Path:
    home = run.path / "trials" / f"{int(row['trial']):04d}"
    return (home / FLOWS / str(row["flow_name"]) if row.get("flow") else home) / latencies.TABLE


def latency_table(settings: list[Setting]) -> Table:
    """The figure in numbers."""
    shares = {"median": 0.5, "90 %": 0.9, "99 %": 0.99, "largest": 1.0}
    rows = tuple(
        (one.name, readable.count(one.many), *(readable.duration(one.at(share)) for share in shares.values()))
        for one in settings
    )
    return Table(("Setting", "Exchanges", *shares), rows, frozenset(range(1, 6)))
