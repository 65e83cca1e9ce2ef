"""The latency of each exchange over time (latencies.parquet of a flow of request and response), and what it says of a
trial with other flows: its responsiveness under load. The table's rows are rttcp's (`--latencies`): when each exchange
began (CLOCK_MONOTONIC), on which stream, and how long it took."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netcommon import trial_tables
from scenarios.statistics import fairness, responsiveness
from scenarios.statistics.responsiveness import Timed
from scenarios.trial import captured, sharing
from scenarios.trial.files import read_json
from scenarios.trial.transfers import FLOWS

TABLE = "latencies.parquet"
_NO_TIMES: NDArray[np.int64] = np.empty(0, np.int64)


def files(folder: Path) -> dict[str, Path]:
    """The tables of a trial's flows by name."""
    params, others = read_json(folder / "params.json") or {}, read_json(folder / "flows.json") or []
    found = {str(params.get("flow_name") or fairness.MAIN): folder / TABLE}
    found |= {flow["flow_name"]: folder / FLOWS / flow["flow_name"] / TABLE for flow in others}
    return {name: file for name, file in found.items() if file.is_file()}


def read(file: Path) -> Timed:
    """When each exchange ended, in order, and its latency, ns."""
    table = trial_tables.read(file, ["t_ns", "latency_ns"])
    began, took = (np.asarray(table[name].to_numpy(), np.int64) for name in ("t_ns", "latency_ns"))
    return _in_order([(began + took, took)])


def columns(folder: Path) -> dict[str, Any]:
    """The trial's responsiveness (`statistics.responsiveness.of`), while all flows of the load and of the exchanges
    run. Empty where a trial has no such load, or no exchanges next to it."""
    exchanges = [read(file) for file in files(folder).values()]
    load = [
        (folder / captured.REVERSE if back else folder, flow)
        for back in (False, True)
        for flow in sharing.bulk(folder, back=back)
    ]
    counts = fairness.counts({f"{home}/{flow.name}": flow.end for home, flow in load})
    if not counts or not exchanges or not all(times.size for times, _ in exchanges):
        return {}
    begin_ns = max(*(int(one.edges_ns[0]) for one in counts), *(int(t[0] - took[0]) for t, took in exchanges))
    end_ns = min(*(int(one.edges_ns[-1]) for one in counts), *(int(t[-1]) for t, _ in exchanges))
    edges = np.arange(begin_ns, end_ns + 1, responsiveness.INTERVAL_NS)
    trips = [] if any(sharing.ends_at_gateway(flow.params) for _, flow in load) else [_trips(*one) for one in load]
    octets = [one.at(edges) for one in counts]
    return responsiveness.of(_in_order(exchanges), _in_order(trips), octets, begin_ns, end_ns)


def _trips(home: Path, flow: sharing.Flow) -> Timed:
    """The smoothed RTTs that a flow's sender had at its samples; none before the first measurement."""
    samples = home / flow.folder / sharing.SAMPLES
    if not samples.exists():
        return _NO_TIMES, _NO_TIMES
    names = {"t_ns", "rtt_us", "bytes_acked", "stream"}
    with trial_tables.judged(samples) as file:
        if not names <= set(file.schema_arrow.names):
            return _NO_TIMES, _NO_TIMES
        table = file.read(columns=sorted(names), use_threads=False)
    rows = {name: np.asarray(table[name].to_numpy(), np.int64) for name in names}
    sends = [row["stream"] for row in (flow.end.get("sender") or {}).get("streams") or [] if "stream" in row]
    own = np.isin(rows["stream"], sends) & (rows["rtt_us"] > 0) & (rows["bytes_acked"] > 0)
    return rows["t_ns"][own], rows["rtt_us"][own] * 1000


def _in_order(series: Sequence[Timed]) -> Timed:
    """Joins several series into one, in order of time."""
    if not series:
        return _NO_TIMES, _NO_TIMES
    times, values = (np.concatenate(parts) for parts in zip(*series, strict=True))
    order = np.argsort(times, kind="stable")
    return times[order], values[order]
