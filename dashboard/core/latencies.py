"""The latencies of a trial's exchanges, one by one: latencies.parquet in the folder of each flow of request and
response."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dashboard.core.runs import FLOWS, Trial
from netcommon import trial_tables

F64 = NDArray[np.float64]
TABLE = "latencies.parquet"


def files(trial: Trial) -> dict[str, Path]:
    """The tables of a trial by the names of their flows."""
    found = {str(trial.params.get("flow_name") or "main"): trial.path / TABLE}
    found |= {name: trial.path / FLOWS / name / TABLE for name in trial.transfer.get(FLOWS) or {}}
    return {name: file for name, file in found.items() if file.is_file()}


def read(file: Path) -> tuple[F64, F64]:
    """When each exchange ended (CLOCK_MONOTONIC), in order, and its latency, ns."""
    table = trial_tables.read(file, ["t_ns", "latency_ns"])
    began, took = (np.asarray(table[name].to_numpy(), np.float64) for name in ("t_ns", "latency_ns"))
    order = np.argsort(began + took, kind="stable")
    return (began + took)[order], took[order]
