"""How the flows of a trial shared its line, from the files of the trial: `flows.parquet`, second by second."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scenarios.statistics import fairness, rfc6349
from scenarios.statistics.fairness import Shared
from scenarios.trial.files import read_json

_TIMESTAMPS = 1  # TCPI_OPT_TIMESTAMPS, in TCP_INFO's options
FLOWS = "flows"  # name of the table, of the folder of other flows, and of their key in transfer.json


def of_trial(folder: Path) -> Shared | None:
    """None with one flow, and where a receiver kept no intervals."""
    end, params = read_json(folder / "transfer.json") or {}, read_json(folder / "params.json")
    others = end.get(FLOWS) or {}
    asked = [flow["flow_name"] for flow in read_json(folder / "flows.json") or []]
    if set(asked) != others.keys():
        return None  # one of them has failed
    known = fairness.counts(end, others, _offset_ns(end) if params.get("topology") == "existing" else None)
    return fairness.shared(known, _payload_bps(params, end))


def _payload_bps(params: dict[str, Any], end: dict[str, Any]) -> float | None:
    """What the line of a trial carries of its flows' octets; None where it has no such bound."""
    line = fairness.line_bps(params)
    options = ((end.get("sender") or {}).get("tcp_info") or {}).get("options", 0)
    return line and line * rfc6349.payload_share(params, timestamps=bool(int(options) & _TIMESTAMPS))


def _offset_ns(end: dict[str, Any]) -> int:
    """CLOCK_REALTIME less CLOCK_MONOTONIC at the first flow's sender. Hosts that exist have one clock in common, that
    of day."""
    sender = end.get("sender") or {}
    return int(sender.get("t0_realtime_ns", 0)) - int(sender.get("t0_monotonic_ns", 0))


def write(folder: Path) -> None:
    """Writes flows.parquet (docs/reference/interfaces.md, "Run directory") where there are several flows."""
    if found := of_trial(folder):
        import pyarrow as pa
        import pyarrow.parquet as parquet

        columns = found.columns()
        doubles = {name: pa.array(columns.pop(name), pa.float64()) for name in ("bps", "flows_bps", "flow_jain")}
        parquet.write_table(pa.table(columns | doubles), folder / f"{FLOWS}.parquet", compression="zstd")


def acknowledged(samples: Path, streams: Sequence[int]) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For each of these streams of a transfer the times of its TCP_INFO samples and the octets that were acknowledged
    by then; empty where one of them has none."""
    found = _of_streams(samples, streams, ("t_ns", "bytes_acked"))
    return [(one["t_ns"], one["bytes_acked"]) for one in found]


def counted(samples: Path, streams: Sequence[int], names: Sequence[str]) -> dict[str, int]:
    """What the kernel had counted (``total_rto``, ``bytes_sent``) at the last sample of each stream, all streams
    together; empty where one of them has none."""
    found = _of_streams(samples, streams, names)
    return {name: sum(int(one[name][-1]) for one in found) for name in names} if found else {}


def _of_streams(samples: Path, streams: Sequence[int], names: Sequence[str]) -> list[dict[str, NDArray[np.int64]]]:
    """Columns of the samples of each of these streams, in order of time; empty where one of them has none."""
    import pyarrow.parquet as parquet

    if not samples.exists():
        return []
    with parquet.ParquetFile(samples, pre_buffer=False) as file:
        if not {"stream", *names} <= set(file.schema_arrow.names):
            return []
        table = file.read(columns=["stream", *names], use_threads=False)
    columns = {name: np.asarray(table[name].to_numpy(), np.int64) for name in ("stream", *names)}
    rows = [np.flatnonzero(columns["stream"] == number) for number in streams]
    return [{name: columns[name][own] for name in names} for own in rows] if all(own.size for own in rows) else []
