"""Run directories as Python objects: manifest, results, trials (docs/interfaces.md, "Run directory").

Small things (JSON, results) are read whole; packet columns are left to `timeline`. A run under way is readable: what is
not there yet is empty. No Dash, no Plotly here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from netcommon.errors import LfpError

Json = dict[str, Any]
SERVER = "server"  # folder of the far gateway's connection, in a trial with gateways


@dataclass(frozen=True)
class Verdict:
    """May the numbers be believed, and if not, why not. `valid` None: not judged (yet)."""

    valid: bool | None
    reasons: tuple[str, ...] = ()

    @classmethod
    def of(cls, value: Any) -> Verdict:
        """From the contract's `{"valid": bool, "reasons": […]}`; anything else is 'not judged'."""
        if not isinstance(value, dict) or not isinstance(value.get("valid"), bool):
            return cls(None)
        return cls(value["valid"], tuple(str(reason) for reason in value.get("reasons") or ()))

    @property
    def word(self) -> str:
        return {True: "valid", False: "not valid", None: "not judged"}[self.valid]


@dataclass(frozen=True)
class Trial:
    """One trial's folder. `summary` is pktlogger's; empty without a capture. `server_summary`: of the far gateway's
    connections, empty without gateways."""

    number: int
    path: Path
    params: Json
    status: Json
    transfer: Json
    summary: Json
    server_summary: Json

    @property
    def captured(self) -> bool:
        return (self.path / "segments.parquet").is_file()

    @property
    def verdict(self) -> Verdict:
        return Verdict.of(self.status.get("verdict"))

    @property
    def flows(self) -> list[int]:
        """Numbers of the captured flows, the one with the most data first (rttcp's control connection is one too)."""
        numbers = [int(entry.get("flow", row)) for row, entry in enumerate(self.summary.get("flows") or [])]
        main = self.summary.get("main_flow")
        return sorted(numbers, key=lambda number: number != main)

    def flow_summary(self, flow: int) -> Json:
        """pktlogger's summary of one flow; empty when there is none."""
        return flow_summary(self.summary, flow)


def flow_summary(summary: Json, flow: int) -> Json:
    """One flow of a summary.json; empty when there is none."""
    flows = summary.get("flows") or []
    by_number = {int(entry.get("flow", row)): entry for row, entry in enumerate(flows)}
    found: Json = by_number.get(flow, {})
    return found


@dataclass(frozen=True)
class Run:
    """A run directory. `rows` are results.parquet's, one a trial and flow; `captured` the trials with a timeline."""

    path: Path
    manifest: Json
    rows: tuple[Json, ...]
    captured: frozenset[int]

    @property
    def name(self) -> str:
        """The directory's name, unique in its runs directory."""
        return self.path.name

    @property
    def scenario(self) -> Json:
        value = self.manifest.get("scenario")
        return value if isinstance(value, dict) else {}

    @property
    def heading(self) -> Json:
        """The scenario's own table (name, title, paper, description)."""
        value = self.scenario.get("scenario")
        return value if isinstance(value, dict) else self.scenario

    @property
    def title(self) -> str:
        return str(self.heading.get("title") or self.manifest.get("name") or self.name)

    @property
    def paper(self) -> str:
        """The paper row that the scenario reproduces, as `lfp-1995/fig3`; empty when none."""
        return str(self.manifest.get("paper") or self.heading.get("paper") or "")

    @property
    def verdict(self) -> Verdict:
        return Verdict.of(self.manifest.get("verdict"))

    @property
    def state(self) -> str:
        return str(self.manifest.get("state") or "unknown")

    @property
    def realtime_offset_ns(self) -> int:
        """CLOCK_REALTIME − CLOCK_MONOTONIC in ns, from the pair read together; 0 when the manifest has none."""
        clock = self.manifest.get("clock") or {}
        return int(clock.get("realtime_ns", 0)) - int(clock.get("monotonic_ns", 0))

    def trial_numbers(self) -> list[int]:
        """Complete trials on disk, ascending."""
        folders = (self.path / "trials").glob("[0-9]*")
        return sorted(int(folder.name) for folder in folders if folder.name.isdigit())

    def trial(self, number: int) -> Trial:
        """One trial. Raises LfpError (status 2) when it is not there."""
        path = self.path / "trials" / f"{number:04d}"
        if not (path / "params.json").is_file():
            raise LfpError(f"run {self.name}: no trial {number}; it has {_listing(self.trial_numbers())}", 2)
        names = ("params", "status", "transfer", "summary", f"{SERVER}/summary")
        return Trial(number, path, *(_read_json(path / f"{name}.json") for name in names))


def load_run(path: Path) -> Run:
    """The run at `path`. Raises LfpError (status 2) when it is no run directory or its manifest is damaged."""
    if not (path / "manifest.json").is_file():
        raise LfpError(f"{path}: not a run directory (it has no manifest.json); `lfp run SCENARIO` makes one", 2)
    results = path / "results.parquet"
    rows = pq.read_table(results, memory_map=True).to_pylist() if results.is_file() else _rows_from_trials(path)
    captured = frozenset(int(file.parent.name) for file in (path / "trials").glob("[0-9]*/segments.parquet"))
    return Run(path, _read_json(path / "manifest.json"), tuple(rows), captured)


def list_runs(runs_dir: Path) -> list[Run]:
    """All readable runs in a directory, newest first; damaged ones are left out."""
    found = []
    for manifest in runs_dir.glob("*/manifest.json"):
        try:
            found.append(load_run(manifest.parent))
        except (LfpError, OSError, ValueError):
            continue
    return sorted(found, key=lambda run: int(run.manifest.get("started_realtime_ns") or 0), reverse=True)


def _rows_from_trials(path: Path) -> list[Json]:
    """Rows of a run that has no results.parquet yet, from the finished trials' own files."""
    rows = []
    for folder in sorted((path / "trials").glob("[0-9]*")):
        status = _read_json(folder / "status.json")
        verdict = Verdict.of(status.get("verdict"))
        measured = _read_json(folder / "transfer.json").get("summary") or {}
        row = _read_json(folder / "params.json") | {
            key: value for key, value in measured.items() if isinstance(value, int | float)
        }
        row |= {"flow": 0, "state": status.get("state"), "valid": verdict.valid, "reasons": "; ".join(verdict.reasons)}
        rows.append(row)
    return rows


def _read_json(path: Path) -> Json:
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise LfpError(f"{path}:{error.lineno}: damaged JSON ({error.msg})", 1) from error
    if not isinstance(value, dict):
        raise LfpError(f"{path}: one JSON object expected", 1)
    return value


def _listing(numbers: list[int]) -> str:
    if not numbers:
        return "none yet"
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])
