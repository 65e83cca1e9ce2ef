"""Runs as tables: every table of a trial on one time axis, numbers of enumerations as their names.

The axis of a trial is `t_ns`: nanoseconds since its transfer began to connect. Each column of time is on it, under its
own name, and a packet that never arrived has null there. Captures have CLOCK_REALTIME and samples CLOCK_MONOTONIC; the
trial's pair of clocks (status.json) joins them. The connection that carried the data is chosen (pktlogger's
`main_flow`), because a tool's control connection is a flow too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from netcommon import extras, result_rows, trial_tables
from netcommon.errors import MissingError, UsageError
from scenarios.run import results, runs
from scenarios.trial import captured, clock
from scenarios.trial.files import read_json
from scenarios.trial.sharing import FLOWS

Frame = Literal["arrow", "pandas", "polars"]
FRAMES = ("arrow", "pandas", "polars")
SAMPLES, BOX, TUNNEL = "tcp_info", "box", "tunnel"
_MONOTONIC = (SAMPLES, FLOWS, "latencies")
_OF_CONNECTIONS = ("segments", "acks", "events", "limits", "losses")  # tables with a column `flow`
_POINTS, _DIRECTIONS = ("gw1-out", "gw2-in"), ("to the receiver", "to the sender")  # names of tunnel.parquet's numbers


@dataclass(frozen=True)
class Trial:
    """A trial's folder. ``params``, ``status``, ``transfer``, ``summary``: its JSON files; ``summary`` is empty without
    captures."""

    path: Path
    virtual: bool = False
    run_clock: dict[str, int] | None = None

    @property
    def number(self) -> int:
        return int(self.path.name)

    @cached_property
    def params(self) -> dict[str, Any]:
        """What was asked for, units in the names."""
        return self._json("params.json")

    @cached_property
    def status(self) -> dict[str, Any]:
        """How the trial went, and its verdict."""
        return self._json("status.json")

    @cached_property
    def transfer(self) -> dict[str, Any]:
        """What the transfer tool reports of both ends; under ``flows`` the reports of other flows."""
        return self._json("transfer.json")

    @cached_property
    def summary(self) -> dict[str, Any]:
        """pktlogger's summary of each captured connection."""
        return self._json("summary.json")

    @property
    def valid(self) -> bool:
        return bool((self.status.get("verdict") or {}).get("valid"))

    def results(self, frame: Frame = "arrow") -> Any:
        """The trial's rows of results.parquet, one for each flow."""
        return _framed(pa.Table.from_pylist(results.rows(self.path), schema=results.SCHEMA), frame)

    @property
    def tables(self) -> list[str]:
        """The names of all tables of this trial. Those of other flows are ``flows/NAME/tcp_info``, those of the far
        gateway's connection ``server/segments``."""
        found = (path.relative_to(self.path).with_suffix("") for path in self.path.rglob("*.parquet"))
        return sorted(str(name) for name in found)

    def table(self, name: str, frame: Frame = "arrow", *, flow: int | Literal["main", "all"] = "main") -> Any:
        """A table on the trial's time axis. ``flow``: the connection, by pktlogger's number; "main": the one that
        carried the data; "all": every one. UsageError when there is no such table."""
        file = self.path / f"{name}.parquet"
        if not file.is_file():
            raise UsageError(f"trial {self.number}: no table '{name}'; it has {', '.join(self.tables) or 'none'}")
        kind = Path(name).name
        found = trial_tables.read(file)
        if kind in _OF_CONNECTIONS and flow != "all" and "flow" in found.column_names:
            number = self._main_of(Path(name).parent) if flow == "main" else flow
            found = found.filter(pc.equal(found["flow"], number))
        return _framed(self._named(self._on_axis(found, kind), kind), frame)

    def all(self, frame: Frame = "arrow") -> dict[str, Any]:
        """Every table of the trial by name."""
        return {name: self.table(name, frame) for name in self.tables}

    @cached_property
    def began_realtime_ns(self) -> int:
        """Zero of the time axis, CLOCK_REALTIME: when the transfer began (`clock.origin_ns`); without one, when the
        trial began."""
        began = clock.origin_ns(self.transfer, "realtime") or (self.status.get("clock") or {}).get("realtime_ns")
        return int(began or self.status.get("started_realtime_ns") or 0)

    def _main_of(self, folder: Path) -> int:
        summary = read_json(self.path / folder / "summary.json") or {}
        own = captured.numbers(self.summary, self.transfer)
        if folder.name == captured.SERVER:
            own = captured.behind_gateways(own, self.summary, summary)
        return own[0] if own else int(summary.get("main_flow") or 0)

    def _on_axis(self, table: pa.Table, kind: str) -> pa.Table:
        zero = self.began_realtime_ns - (self._offset_ns() if kind in _MONOTONIC else 0)
        for place, name in enumerate(table.column_names):
            if name.startswith(("t_", "t0_", "t1_")) and name.endswith("ns"):
                times = pc.cast(table[name], pa.int64())
                known = pc.if_else(pc.greater_equal(times, 0), pc.subtract(times, zero), pa.scalar(None, pa.int64()))
                table = table.set_column(place, name, known)
        return table

    def _offset_ns(self) -> int:
        """CLOCK_REALTIME - CLOCK_MONOTONIC where the trial ran. Older trials in real time have the run's."""
        pair = self.status.get("clock") or ({} if self.virtual else self.run_clock or {})
        if not pair:
            raise UsageError(f"trial {self.number}: an older version wrote it, without clocks to place its samples by")
        return int(pair["realtime_ns"]) - int(pair["monotonic_ns"])

    def _named(self, table: pa.Table, kind: str) -> pa.Table:
        """Numbers of enumerations as their names."""
        names: dict[str, list[str]] = trial_tables.described(table, "pktlogger.names")
        if kind == BOX:
            record = trial_tables.described(table, "pktlogger.record")
            names |= {key: record[f"{key}s"] for key in ("fate", "direction") if f"{key}s" in record}
        if kind == TUNNEL:
            names |= {"point": list(_POINTS), "dir": list(_DIRECTIONS)}
        for name, texts in names.items():
            if name in table.column_names and not pa.types.is_string(table[name].type):
                numbers = pc.cast(table[name], pa.int32())
                known = pc.if_else(pc.less(numbers, len(texts)), numbers, pa.scalar(None, pa.int32()))
                chunks = [pa.DictionaryArray.from_arrays(chunk, pa.array(texts)) for chunk in known.chunks]
                kept = pa.chunked_array(chunks, pa.dictionary(pa.int32(), pa.string()))
                table = table.set_column(table.column_names.index(name), name, kept)
        return table

    def _json(self, name: str) -> dict[str, Any]:
        content: dict[str, Any] = read_json(self.path / name) or {}
        return content


@dataclass(frozen=True)
class Run:
    """A run directory. ``manifest``: its manifest.json."""

    path: Path

    @cached_property
    def manifest(self) -> dict[str, Any]:
        return runs.manifest(self.path)

    @property
    def valid(self) -> bool:
        return bool((self.manifest.get("verdict") or {}).get("valid"))

    def results(self, frame: Frame = "arrow", *, valid_only: bool = False) -> Any:
        """results.parquet: one row for each trial and flow."""
        file = self.path / "results.parquet"
        if not file.is_file():
            raise UsageError(f"{self.path}: no results yet; finish it with 'lfp run --resume'")
        found = result_rows.read(file)
        return _framed(found.filter(found["valid"]) if valid_only else found, frame)

    @property
    def trials(self) -> list[Trial]:
        """All complete trials by number."""
        return [self._trial(folder) for folder in runs.trial_folders(self.path)]

    def trial(self, number: int) -> Trial:
        """One trial. UsageError when there is none of this number."""
        folder = self.path / "trials" / f"{number:04d}"
        if not folder.is_dir():
            known = ", ".join(str(trial.number) for trial in self.trials[:5])
            raise UsageError(f"{self.path.name}: no trial {number}; it has {known or 'none'} …")
        return self._trial(folder)

    def table(self, name: str, frame: Frame = "arrow", **options: Any) -> Any:
        """One table of all trials that have it, with a column ``trial`` in front. ``options``: those of `Trial.table`.
        Each trial keeps its own time axis, which begins with its transfer."""
        found = []
        for trial in self.trials:
            if name in trial.tables:
                own = trial.table(name, **options)
                found.append(own.add_column(0, "trial", pa.array([trial.number] * own.num_rows, pa.int64())))
        if not found:
            raise UsageError(f"{self.path.name}: no trial has a table '{name}'")
        plain = (_plain(table) for table in found)
        return _framed(pa.concat_tables(plain, promote_options="default"), frame)

    def _trial(self, folder: Path) -> Trial:
        return Trial(folder, bool(self.manifest.get("virtual")), self.manifest.get("clock"))


def load(run: str | Path = "last", *, runs_dir: str | Path | None = None) -> Run:
    """A run by path, by name, or the last one in ``runs_dir`` (LFP_RUNS_DIR, or runs). UsageError without one."""
    return Run(runs.find(str(run), runs.directory(runs_dir)))


def _plain(table: pa.Table) -> pa.Table:
    """The table with enumerations as texts and without metadata, which may differ from trial to trial."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, pc.cast(table[field.name], pa.string()))
    return table.replace_schema_metadata(None)


def _framed(table: pa.Table, frame: str) -> Any:
    if frame == "arrow":
        return table
    if frame not in FRAMES:
        raise UsageError(f"frame = '{frame}': unknown; allowed: {', '.join(FRAMES)}")
    try:
        if frame == "pandas":
            return table.to_pandas()
        import polars

        return polars.from_arrow(table)
    except ModuleNotFoundError:
        raise MissingError(f"frame = '{frame}': {frame} is not installed; {extras.install('notebook')}") from None
