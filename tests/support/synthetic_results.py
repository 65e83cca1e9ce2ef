"""Results of scenarios that nobody ran: rows as results.parquet has them, from a real plan of random swept settings."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from scenarios.plan import columns, params
from scenarios.plan.document import Document
from scenarios.plan.plan import Plan, make_plan
from scenarios.run.results import SCHEMA

SWEEPABLE: dict[str, list[Any]] = {
    "path.queue": ["30KB", "60KB", "110KB", "220KB"],
    "path.ab_queue": ["31KB", "62KB"],
    "path.delay": ["4ms", "10ms", "50ms"],
    "path.loss": ["0", "0.01%", "1%", "gilbert:1%,10"],
    "path.rate": ["45Mbit", "800Mbit"],
    "path.jitter": ["none", "normal:1ms"],
    "profile.name": ["bsd-1995", "modern", "bbr"],
    "transfer.window": ["64KB", "128KB", "256KB", "512KB"],
    "transfer.congestion": ["reno", "cubic"],
    "transfer.second": ["reno", "cubic"],
    "transfer.nodelay": [False, True],
    "gateway.recovery": ["gbn", "selective", "fec"],
    "gateway.rate": ["10Mbit", "20Mbit"],
    "capture.snap": [64, 128],
}


def random_plan(rng: random.Random, **report: Any) -> Plan:
    """A plan that sweeps two or three settings with one to four repeats; ``report``: its [report]."""
    chosen = rng.sample(sorted(SWEEPABLE), rng.choice((2, 3)))
    sweep = {name: rng.sample(SWEEPABLE[name], rng.randint(2, len(SWEEPABLE[name]))) for name in chosen}
    values: dict[str, Any] = {
        "scenario": {"name": "random"},
        "path": {"delay": "5ms", "rate": "100Mbit", "queue": "100KB"},
        "transfer": {"bytes": "1MB"},
        "gateway": {"kind": "lft"} if any(name.startswith("gateway") for name in chosen) else {},
        "run": {"repeat": rng.randint(1, 4)},
        "sweep": sweep,
    }
    return make_plan(Document("random.toml", values | ({"report": report} if report else {})), rng.randrange(2**32))


def rows(plan: Plan, rng: random.Random, *, copies: bool = False) -> list[dict[str, Any]]:
    """A row a trial in listed order. ``copies``: repeats are equal to the bit, as where nothing is random."""
    found = []
    for trial in plan.trials:
        setting = trial.setting.model_dump_json()
        draw = random.Random(setting) if copies else rng
        bps = draw.uniform(1e6, 1e9)
        found.append(params.of(trial) | {
            "flow": 0, "state": "done", "valid": rng.random() > 0.1, "reasons": "", "short_term_bps": bps,
            "peak_bps": 1.1 * bps, "elapsed_ns": int(8e15 / bps), "retransmits": draw.randrange(50),
            "rtt_min_ns": params.of(trial)["rtt_ns"], "rtt_median_ns": params.of(trial)["rtt_ns"],
        })  # fmt: skip
    return found


def write_plan(folder: Path, plan: Plan, rows: Sequence[Mapping[str, object]], **manifest: object) -> Path:
    """A run of synthetic results: a folder a trial, the manifest with the scenario as resolved."""
    for row in rows:
        trial = folder / "trials" / f"{row['trial']:04d}"
        trial.mkdir(parents=True)
        (trial / "params.json").write_text(json.dumps({k: row[k] for k in (*columns.settings(), "trial")}))
    (folder / "manifest.json").write_text(json.dumps({"scenario": plan.echo} | manifest))
    parquet.write_table(pa.Table.from_pylist(list(rows), schema=SCHEMA), folder / "results.parquet")
    return folder
