"""Run directories of plans that nobody ran: manifest, results, and the samples that the congestion windows need."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scenarios.plan.plan import Plan


def write(parent: Path, plan: Plan, rows: list[dict[str, Any]]) -> Path:
    """Write a run whose results are `rows`; the TCP_INFO samples of all trials are one file."""
    run = parent / f"random-20251009T085320-{plan.seed:08x}"
    run.mkdir(parents=True)
    manifest = {"v": 1, "name": plan.name, "scenario": plan.echo, "state": "done", "plan": len(plan.trials),
                "verdict": {"valid": True, "reasons": []}, "title": "Random settings", "paper": ""}  # fmt: skip
    (run / "manifest.json").write_text(json.dumps(manifest))
    pq.write_table(pa.Table.from_pylist(rows), run / "results.parquet")
    samples = run / "samples.parquet"
    columns = {name: [1, 2, 3] for name in ("snd_cwnd", "snd_ssthresh", "ca_state", "snd_mss")}
    pq.write_table(pa.table({"t_ns": [0, 10**7, 2 * 10**7]} | columns), samples)
    for row in rows:
        folder = run / "trials" / f"{row['trial']:04d}"
        folder.mkdir(parents=True)
        (folder / "params.json").write_text(json.dumps(row))
        os.link(samples, folder / "tcp_info.parquet")
    return run
