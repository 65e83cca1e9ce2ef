"""results.parquet: one row for each trial and flow, from the files of the trials."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
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
        "plain_bps": ((transfer.get("plain") or {}).get("summary") or {}).get("short_term_bps"),
        **_shorts((transfer.get("short") or {}).get("elapsed_ns")),
        "reverse_bps": ((transfer.get("reverse") or {}).get("summary") or {}).get("short_term_bps"),
        **fairness.of_streams(receiver),
        **_exchanges(summary.get("exchange") or {}),
        **_round_trips(folder / "tcp_info.parquet"),
        "recovery_ns": recovery.of_trial(params, receiver, read_json(folder / "delay.json") or {}),
        "stopped_share": _stopped_share(folder / "summary.json"),
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


def _shorts(took_ns: list[int] | None) -> dict[str, int | None]:
    """The short transfers beside the transfer; nulls without."""
    names = ("short_median_ns", "short_max_ns")
    if not took_ns:
        return {"shorts": None if took_ns is None else 0, **dict.fromkeys(names)}
    return {"shorts": len(took_ns), **dict(zip(names, (round(median(took_ns)), max(took_ns)), strict=True))}


def _exchanges(exchange: dict[str, Any]) -> dict[str, Any]:
    """What request and response measured; nulls without."""
    return {key: exchange.get(key) for key in ("exchanges_per_s", *(f"latency_{name}_ns" for name in LATENCIES))}


def _stopped_share(summary: Path) -> float | None:
    """lfp-1995's s of the flow that carried the data (not of a tool's control connection); None without captures."""
    content = read_json(summary) or {}
    flows = content.get("flows") or [{}]
    share: float | None = flows[content.get("main_flow", 0)].get("stopped_share")
    return share


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
