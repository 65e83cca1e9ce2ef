"""results.parquet: one row for each trial and flow, from the files of the trials."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet

from scenarios.plan.columns import COLUMNS, LATENCIES
from scenarios.plan.plan import Trial
from scenarios.run import fairness
from scenarios.trial import recovery, trial
from scenarios.trial.files import read_json

_KINDS = {"text": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
SCHEMA = pa.schema([(name, _KINDS[column.kind]) for name, column in COLUMNS.items()])


def row(folder: Path) -> dict[str, Any]:
    """A trial's row. Columns that a failed trial cannot fill are null."""
    status = read_json(folder / "status.json")
    transfer = read_json(folder / "transfer.json") or {}
    summary, sender, receiver = (transfer.get(key) or {} for key in ("summary", "sender", "receiver"))
    params = read_json(folder / "params.json")
    return {
        **params,
        "flow": 0,
        "state": status["state"],
        "valid": status["verdict"]["valid"],
        "reasons": "; ".join(status["verdict"]["reasons"]),
        "verified": summary.get("verified"),
        **{key: summary.get(key) for key in ("short_term_bps", "peak_bps", "elapsed_ns", "connect_ns", "retransmits")},
        "second_bps": ((transfer.get("second") or {}).get("summary") or {}).get("short_term_bps"),
        "reverse_bps": ((transfer.get("reverse") or {}).get("summary") or {}).get("short_term_bps"),
        **fairness.of_streams(receiver),
        **_exchanges(summary.get("exchange") or {}),
        **_round_trips(folder / "tcp_info.parquet"),
        "recovery_ns": recovery.of_trial(params, receiver, read_json(folder / "delay.json") or {}),
        **_of_captures(folder / "summary.json"),
        "timeouts": (sender.get("tcp_info") or {}).get("total_rto"),
        "window_granted_bytes": receiver.get("window_granted_bytes"),
        "cpu_sender_ns": _cpu_ns(sender),
        "cpu_receiver_ns": _cpu_ns(receiver),
        "cpu_gateways_ns": (read_json(folder / "gateway.json") or {}).get("cpu_ns"),
    }


def write(run_dir: Path, rows: list[dict[str, Any]]) -> None:
    """Rewrites results.parquet, sorted by trial number, and renames it into place."""
    ordered = sorted(rows, key=lambda r: (r["trial"], r["flow"]))
    temporary = run_dir / ".results.parquet.tmp"
    parquet.write_table(pa.Table.from_pylist(ordered, schema=SCHEMA), temporary)
    temporary.rename(run_dir / "results.parquet")


class Table:
    """results.parquet of a run that is under way. A context manager: its end writes what is not written yet. ``rows``:
    by trial number; `add` adds to them.

    A trial's row is written at once, except where writing took more than a twentieth of the time since: a table of
    10,000 rows takes longer to write than some trials take."""

    def __init__(self, run_dir: Path, rows: dict[int, dict[str, Any]]) -> None:
        self._run_dir, self._rows = run_dir, rows
        self._unwritten, self._wrote_s, self._took_s = False, 0.0, 0.0

    def __enter__(self) -> Table:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._unwritten:
            self._write()

    def add(self, one: Trial) -> None:
        """Takes the row of a trial that has its folder."""
        self._rows[one.number] = row(trial.folder_of(self._run_dir, one.number))
        self._unwritten = True
        if time.monotonic() - self._wrote_s >= _SHARE * self._took_s:
            self._write()

    def _write(self) -> None:
        began_s = time.monotonic()
        write(self._run_dir, list(self._rows.values()))
        self._unwritten, self._wrote_s = False, time.monotonic()
        self._took_s = self._wrote_s - began_s


_SHARE = 20  # times the last writing's duration that pass before the next


def _cpu_ns(side: dict[str, Any]) -> int | None:
    return side["cpu_user_ns"] + side["cpu_system_ns"] if "cpu_user_ns" in side else None


def _exchanges(exchange: dict[str, Any]) -> dict[str, Any]:
    """What request and response measured; nulls without."""
    return {key: exchange.get(key) for key in ("exchanges_per_s", *(f"latency_{name}_ns" for name in LATENCIES))}


_CAUSES = {
    "queue": ("tail_drop", "aqm"), "receiver": ("receiver",), "corrupted": ("corrupted",),
    "chance": ("random", "random_before", "random_behind"), "outage": ("outage",),
}  # fmt: skip


def _of_captures(summary: Path) -> dict[str, Any]:
    """Of the flow that carried the data (not of a tool's control connection): lfp-1995's s, and why packets were lost,
    by the box's record and by the captures of the ends alone. Nulls without captures."""
    content = read_json(summary) or {}
    flows = content.get("flows") or [{}]
    flow = flows[content.get("main_flow", 0)]
    found: dict[str, Any] = {"stopped_share": flow.get("stopped_share")}
    for prefix, key in (("lost", "losses_by_cause"), ("seen", "losses_seen")):
        counts = flow.get(key)
        for name, causes in _CAUSES.items():
            total = None if counts is None else sum(counts.get(cause, 0) for cause in causes)
            found[f"{prefix}_{name}"] = total
    return found


def _round_trips(samples: Path) -> dict[str, int | None]:
    """The least and the median smoothed RTT of the TCP_INFO samples, ns."""
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
