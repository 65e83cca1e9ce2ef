"""The queues in front of a trial's bottleneck over time: queue.parquet, from the delay box's record (box.parquet)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from netcommon import trial_tables
from scenarios.plan.columns import REVERSE
from scenarios.statistics import bottleneck
from scenarios.statistics.line import ON_THE_WIRE
from scenarios.trial import analysis, clock
from scenarios.trial.files import read_json
from scenarios.trial.sharing import WAYS

TABLE = "queue.parquet"
_KEPT = "lfp_queue"  # of the table's metadata: the columns of results.parquet
_LINK = 14  # octets of a recorded packet that are its link header
_NAMES = ("direction", "number", "copy", "fate", "edits", "t_arrival_ns", "t_queue_exit_ns", "t_drop_ns", "wire_len")


def columns(folder: Path) -> dict[str, Any]:
    """The trial's columns of results.parquet; empty without a record."""
    file = folder / TABLE
    if not file.is_file():
        return {}
    with trial_tables.judged(file) as opened:
        return trial_tables.described(opened.schema_arrow, _KEPT)


def write(folder: Path) -> None:
    """Writes queue.parquet (docs/reference/interfaces.md, "Run directory") where the box was recorded."""
    record = folder / f"{analysis.BOX}.parquet"
    if not record.exists():
        return
    import pyarrow as pa
    import pyarrow.parquet as parquet

    table = trial_tables.read(record, _NAMES)
    fates = trial_tables.described(table, "pktlogger.record")["fates"]
    rows = {name: np.asarray(table[name].to_numpy()) for name in _NAMES}
    params = read_json(folder / "params.json") or {}
    overhead = ON_THE_WIRE.get(str(params.get("framing")), 0) - _LINK
    origin_ns = clock.origin_ns(read_json(folder / "transfer.json") or {}, "realtime")
    kept: dict[str, int] = {}
    tables = []
    for way, prefix in enumerate(("", REVERSE)):
        packets = bottleneck.of_record(rows, fates, way, overhead)
        if packets is None:
            continue
        kept |= {f"{prefix}{name}": value for name, value in bottleneck.columns(packets).items()}
        found = bottleneck.over_time(packets, origin_ns or int(packets.arrived_ns[0]))
        made = {name: pa.array(values) for name, values in found.items()}
        tables.append(pa.table({"direction": [WAYS[way]] * len(found["t0_ns"]), **made}))
    if tables:
        whole = pa.concat_tables(tables).replace_schema_metadata({_KEPT: json.dumps(kept)})
        parquet.write_table(whole, folder / TABLE, compression="zstd")
