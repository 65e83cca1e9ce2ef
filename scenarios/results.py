"""results.parquet: one row a trial and flow, from the files of the trials."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet

from scenarios.files import read_json
from scenarios.model import PathTable

_TEXT, _INT, _FLOAT, _BOOL = pa.string(), pa.int64(), pa.float64(), pa.bool_()
_DIRECTION = [
    (name, _TEXT if isinstance(value, str) else _INT) for name, value in PathTable().direction("ab").columns().items()
]
SCHEMA = pa.schema(
    [(name, _INT) for name in ("trial", "repeat", "seed")]
    + [("case", _TEXT), ("profile", _TEXT)]
    + [(name, _INT) for name in ("window_bytes", "bytes", "duration_ns", "length_bytes")]
    + [(prefix + name, kind) for prefix in ("", "ba_") for name, kind in _DIRECTION]
    + [(name, _INT) for name in ("poll_ns", "spin_ns", "granularity_ns", "memory_bytes")]
    + [(name, _INT) for name in ("rtt_ns", "mtu")]
    + [("framing", _TEXT), ("routers", _INT), ("congestion", _TEXT), ("second", _TEXT)]
    + [("nodelay", _BOOL), ("zerocopy", _BOOL)]
    + [(name, _TEXT) for name in ("family", "gateway", "gateway_model")]
    + [("gateway_rate_bps", _INT), ("gateway_rate_mode", _TEXT), ("gateway_recovery", _TEXT)]
    + [("gateway_redundancy", _BOOL), ("gateway_cipher", _TEXT), ("gateway_carriage", _TEXT)]
    + [("tool", _TEXT), ("capture", _TEXT)]
    + [("flow", _INT), ("state", _TEXT), ("valid", _BOOL), ("reasons", _TEXT)]
    + [("short_term_bps", _FLOAT), ("peak_bps", _FLOAT), ("second_bps", _FLOAT)]
    + [(name, _INT) for name in ("elapsed_ns", "connect_ns", "retransmits", "rtt_min_ns", "rtt_median_ns")]
    + [("stopped_share", _FLOAT), ("timeouts", _INT), ("window_granted_bytes", _INT)]
    + [(name, _INT) for name in ("cpu_sender_ns", "cpu_receiver_ns", "cpu_gateways_ns")]
)


def row(folder: Path) -> dict[str, Any]:
    """A trial's row; what a failed trial lacks is null."""
    status = read_json(folder / "status.json")
    transfer = read_json(folder / "transfer.json") or {}
    summary, sender, receiver = (transfer.get(key) or {} for key in ("summary", "sender", "receiver"))
    return {
        **read_json(folder / "params.json"),
        "flow": 0,
        "state": status["state"],
        "valid": status["verdict"]["valid"],
        "reasons": "; ".join(status["verdict"]["reasons"]),
        **{key: summary.get(key) for key in ("short_term_bps", "peak_bps", "elapsed_ns", "connect_ns", "retransmits")},
        "second_bps": ((transfer.get("second") or {}).get("summary") or {}).get("short_term_bps"),
        **_round_trips(folder / "tcp_info.parquet"),
        "stopped_share": _stopped_share(folder / "summary.json"),
        "timeouts": (sender.get("tcp_info") or {}).get("total_rto"),
        "window_granted_bytes": receiver.get("window_granted_bytes"),
        "cpu_sender_ns": _cpu_ns(sender),
        "cpu_receiver_ns": _cpu_ns(receiver),
        "cpu_gateways_ns": (read_json(folder / "gateway.json") or {}).get("cpu_ns"),
    }


def write(run_dir: Path, rows: list[dict[str, Any]]) -> None:
    """Rewrites results.parquet by rename, rows by trial number."""
    ordered = sorted(rows, key=lambda r: (r["trial"], r["flow"]))
    temporary = run_dir / ".results.parquet.tmp"
    parquet.write_table(pa.Table.from_pylist(ordered, schema=SCHEMA), temporary)
    temporary.rename(run_dir / "results.parquet")


def _cpu_ns(side: dict[str, Any]) -> int | None:
    return side["cpu_user_ns"] + side["cpu_system_ns"] if "cpu_user_ns" in side else None


def _stopped_share(summary: Path) -> float | None:
    """lfp-1995's s of the flow that carried the data, not of a tool's control connection; null without captures."""
    content = read_json(summary) or {}
    flows = content.get("flows") or [{}]
    share: float | None = flows[content.get("main_flow", 0)].get("stopped_share")
    return share


def _round_trips(samples: Path) -> dict[str, int | None]:
    """Least and median smoothed RTT of the TCP_INFO samples, ns."""
    none: dict[str, int | None] = {"rtt_min_ns": None, "rtt_median_ns": None}
    if not samples.exists():
        return none
    table = parquet.read_table(samples)
    if "rtt_us" not in table.column_names:
        return none
    known = table["rtt_us"].filter(pc.greater(table["rtt_us"], 0))
    if not len(known):
        return none
    least, median = pc.min(known).as_py(), pc.quantile(known, 0.5)[0].as_py()
    return {"rtt_min_ns": int(least * 1000), "rtt_median_ns": int(median * 1000)}
