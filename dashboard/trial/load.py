"""Latency and queues of a trial over time: the latency of each exchange (latencies.parquet of its flow), and how long
packets and how many octets waited at the bottleneck (queue.parquet), with its marks, drops and outages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.core import latencies
from dashboard.core.runs import Trial, read_json
from netcommon import trial_tables

F64 = NDArray[np.float64]
QUEUES, OUTAGES = "queue.parquet", "recovery.json"
WAYS = {"forward": "to the receiver", "reverse": "reverse direction"}  # values of column `direction`, in words
MEASURE = (
    "Latency: each exchange at the time of its end, from the request's send to the response's last octet. At the "
    "bottleneck: packets from their arrival at the delay box until their last bit left it, in spans of 0.1 s or more, "
    "and the octets there. Shaded: outages."
)


@dataclass(frozen=True)
class Latency:
    """The exchanges of a flow, in order of their ends. ``t_s``: the ends, since the trial's origin; ``ns``: the
    latencies."""

    name: str
    t_s: F64
    ns: F64


@dataclass(frozen=True)
class Queue:
    """One direction's bottleneck: a value for each span, NaN where no packet left. ``t_s``: their beginnings."""

    name: str
    t_s: F64
    sojourn_p50_ns: F64
    sojourn_p99_ns: F64
    queued_mean_bytes: F64
    queued_max_bytes: F64
    marked: F64
    dropped: F64


@dataclass(frozen=True)
class Load:
    latencies: tuple[Latency, ...]
    queues: tuple[Queue, ...]
    outages_s: tuple[tuple[float, float], ...]


def load(trial: Trial) -> Load | None:
    """Latencies and queues of a trial. None for a trial with neither exchanges nor a record of the delay box, and for
    trials of older runs."""
    monotonic_ns, realtime_ns = (_origin_ns(trial, clock) for clock in ("monotonic", "realtime"))
    exchanges = []
    for name, file in latencies.files(trial).items():
        ended_ns, took_ns = latencies.read(file)
        if ended_ns.size:
            exchanges.append(Latency(name, (ended_ns - monotonic_ns) / 1e9, took_ns))
    queues = _queues(trial, realtime_ns)
    if not exchanges and not queues:
        return None
    flows = (read_json(trial.path / OUTAGES) or {}).get("flows") or {}
    spans = {(one["begin_ns"] / 1e9, one["end_ns"] / 1e9) for own in flows.values() for one in own}
    return Load(tuple(exchanges), queues, tuple(sorted(spans)))


def _origin_ns(trial: Trial, clock: str) -> int:
    """The trial's origin: when the sender of its first flow began to connect."""
    sides = (trial.transfer.get(side) or {} for side in ("sender", "receiver"))
    return next((int(side[f"t0_{clock}_ns"]) for side in sides if side.get(f"t0_{clock}_ns")), 0)


def _queues(trial: Trial, origin_ns: int) -> tuple[Queue, ...]:
    file = trial.path / QUEUES
    if not file.is_file():
        return ()
    table = trial_tables.read(file)
    ways = np.asarray(table["direction"].to_pylist())
    names = [name for name in Queue.__dataclass_fields__ if name not in ("name", "t_s")]
    rows = {name: np.asarray(table[name].to_numpy(zero_copy_only=False), np.float64) for name in ("t0_ns", *names)}
    found = []
    for way, said in WAYS.items():
        own = ways == way
        if own.any():
            t_s = (rows["t0_ns"][own] - origin_ns) / 1e9
            found.append(Queue(said, t_s, **{name: rows[name][own] for name in names}))
    return tuple(found)
