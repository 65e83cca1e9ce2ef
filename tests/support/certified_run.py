"""A made-up run that keeps every rule of the Land Speed Record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scenarios.certify import seal
from scenarios.plan.plan import load_plan

SECOND = 10**9
SIDES = {
    "sender": {"local": "10.77.0.1:1", "remote": "10.77.2.2:2"},
    "receiver": {"local": "10.77.2.2:2", "remote": "10.77.0.1:1"},
}


def write_run(folder: Path, rate_bps: int = 9_800_000_000, points: Any = None, **changed: Any) -> Path:
    """A sealed run of ten minutes from Tokyo around the world that keeps every rule. ``changed`` replaces parameters,
    `elapsed_ns`, `verified` and `mptcp` of the transfer, and `commits` of the manifest."""
    trial = folder / "trials" / "0000"
    trial.mkdir(parents=True)
    around = load_plan("lsr-ipv4-single").echo["route"]["points"]
    route = {"points": around if points is None else points}
    manifest = {
        "title": "Made up",
        "started_realtime_ns": 1_760_000_000 * SECOND,
        "scenario": {"route": route},
        "versions": {"lfp": "0.1.0"},
        "kernel": "Linux 6.1",
        "hashes": {"rttcp": "00"},
        "commits": changed.pop("commits", {"rttcp": "0123456789ab"}),
    }
    summary = {
        "short_term_bps": rate_bps,
        "elapsed_ns": changed.pop("elapsed_ns", 601 * SECOND),
        "bytes": 7 * 10**11,
        "complete": True,
        "verified": changed.pop("verified", "ok"),
    }
    transfer = SIDES | {"summary": summary, "params": {"mptcp": changed.pop("mptcp", False)}}
    params = {
        "tool": "rttcp", "family": "ipv4", "parallel": 1, "bidir": False, "second": None, "routers": 3, "verify": True,
        "gateway": "none", "rtt_ns": 498_000_000, "mtu": 9000, "rate_bps": 10**10, "framing": "ip",
    }  # fmt: skip
    status = {"state": "done", "verdict": {"valid": True}}
    for name, content in (("params", params | changed), ("status", status), ("transfer", transfer)):
        (trial / f"{name}.json").write_text(json.dumps(content))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    for file in (folder / "results.parquet", trial / "tcp_info.parquet"):
        file.write_bytes(b"PAR1")
    seal.write(folder)
    return folder
