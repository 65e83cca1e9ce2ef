"""A made-up run whose one captured trial has a second flow: main's window is 10 to 20 segments, the rival's 100 to 200,
and the rival is on the connection with the most data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scenarios.trial import sharing
from support import synthetic_run
from support.synthetic_capture import CONTROL_FLOW, MAIN_FLOW

S = 10**9
LATE_NS = 2 * S  # after main
RATES = {"main": [32e6] * 20 + [8e6] * 20, "rival": [24e6] * 20}  # bit/s, in intervals of 0.1 s
WINDOWS = {"main": (10, 20), "rival": (100, 200)}  # segments


def competitor(parent: Path) -> Path:
    """Writes the run; gives its directory."""
    run = synthetic_run.seqack(parent)
    folder = run / "trials" / "0000"
    params, summary = (json.loads((folder / f"{name}.json").read_text()) for name in ("params", "summary"))
    began_ns = json.loads((folder / "status.json").read_text())["clock"]["monotonic_ns"]
    params |= {
        "flow_name": "main",
        "pair": 1,
        "start_ns": 0,
        "beside": "bbr, from 2s",
        "topology": "dumbbell",
        "access_rate_bps": 0,
    }
    own = {"flow": 1, "flow_name": "rival", "start_ns": LATE_NS, "beside": "reno", "congestion": "bbr"}
    transfer = _end(summary["flows"][CONTROL_FLOW], began_ns, "main")
    transfer["flows"] = {"rival": _end(summary["flows"][MAIN_FLOW], began_ns + LATE_NS, "rival")}
    for name, content in {"params": params, "flows": [own], "transfer": transfer}.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    (folder / "flows" / "rival").mkdir(parents=True)
    _samples(folder / "tcp_info.parquet", began_ns, "main")
    _samples(folder / "flows" / "rival" / "tcp_info.parquet", began_ns + LATE_NS, "rival")
    sharing.write(folder)
    (row,) = pq.read_table(run / "results.parquet").to_pylist()
    shared = {"flows_common_ns": 2 * S, "flows_bps": 32e6, "flow_jain": 0.8}
    synthetic_run.finish(run, [row | params | shared | {"flow": 0}, row | params | shared | own])
    return run


def _end(captured: dict[str, Any], t0_ns: int, name: str) -> dict[str, Any]:
    """The `end` object of a flow's sender, whose connection is ``captured``."""
    local, remote = (f"{captured[end]['address']}:{captured[end]['port']}" for end in ("sender", "receiver"))
    rows = [[n * S // 10, (n + 1) * S // 10, int(bps / 80)] for n, bps in enumerate(RATES[name])]
    return {
        "summary": {"short_term_bps": sum(RATES[name]) / len(RATES[name])},
        "sender": {"streams": [{"stream": 0, "local": local, "remote": remote}]},
        "receiver": {"t0_monotonic_ns": t0_ns, "intervals": rows},
    }


def _samples(file: Path, began_ns: int, name: str) -> None:
    t = np.arange(0, len(RATES[name]) * S // 10, S // 100)
    low, high = WINDOWS[name]
    columns = {
        "t_ns": began_ns + t,
        "stream": np.zeros(t.size, np.uint32),
        "snd_cwnd": low + t * (high - low) // t[-1],
        "snd_mss": np.full(t.size, 1000),
        "rtt_us": np.full(t.size, 9000),
        "snd_ssthresh": np.full(t.size, low),
        "ca_state": np.zeros(t.size, np.uint32),
    }
    pq.write_table(pa.table(columns), file)
