"""A metric over all runs of a folder, by cell and time, and whether each cell changed against the run before
(``judgement``). DuckDB reads the runs' results.parquet files.

A cell is one setting of one scenario in one kind of time, as in a comparison: all columns that say what was asked for.
So no row mixes settings. A column that an older run lacks is null there, as everywhere else. Only valid trials
count. Rejected: a database that runs are written into. It would duplicate the folders and could disagree with them.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from netcommon import result_rows, run_format
from netcommon.errors import LfpError, UsageError
from netcommon.strangers import refuse_links
from scenarios.plan import cells, columns
from scenarios.plan.cells import Row
from scenarios.run import judgement
from scenarios.run.judgement import MARGIN
from scenarios.trial.files import read_json

GATEWAY = "lft-gateway"
OURS = (GATEWAY, "comet-delay", "rttcp", "pktlogger", "timer-witness")
_HASH_DIGITS = 12  # digits of SHA-256: enough to tell builds apart
_CHANGES = {"same": "same", "better": "changed", "worse": "changed"}  # a history asks only whether a value changed
UNDECIDED = "undecided"


@dataclass(frozen=True)
class Entry:
    """A cell of a run. ``setting``: its columns; ``ratio``: its median / the median in the previous run with this cell;
    ``interval``: the ratio's 95 % interval; ``change``: same, changed or undecided. All three are None in the first run
    that has the cell."""

    run: Path
    manifest: dict[str, Any] = field(repr=False)
    setting: Row
    trials: int
    median: float
    least: float
    most: float
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    change: str | None = None

    @property
    def against_before(self) -> str:
        """``1.02 (0.98 … 1.05), same``; empty in the first."""
        return "" if self.ratio is None else f"{judgement.ratio_text(self.ratio, self.interval)}, {self.change}"

    @property
    def time(self) -> str:
        return kind_of_time(self.manifest)

    @property
    def gateways(self) -> list[str]:
        """The programs of the run's gateways: ours, or the first words of the scenario's command lines."""
        known = self.manifest.get("hashes") or {}
        return [name for name in known if name == GATEWAY or name not in OURS]

    @property
    def started(self) -> str:
        """When the run started, UTC, in ISO 8601."""
        started = datetime.datetime.fromtimestamp(self.manifest["started_realtime_ns"] / 1e9, datetime.UTC)
        return started.isoformat(timespec="seconds")

    @property
    def gateway_build(self) -> str:
        """The builds of the run's gateways; empty without gateways."""
        return " ".join(filter(None, map(self.build, self.gateways)))

    def build(self, program: str) -> str | None:
        """The commit of a program of the run; the beginning of its hash where no commit says which build it was."""
        commit: str | None = (self.manifest.get("commits") or {}).get(program)
        found: str | None = (self.manifest.get("hashes") or {}).get(program)
        return found[:_HASH_DIGITS] if found and (not commit or commit.endswith("-dirty")) else commit


def kind_of_time(manifest: dict[str, Any]) -> str:
    """``real`` or ``virtual``."""
    return "virtual" if manifest.get("virtual") else "real"


def entries(
    runs_dir: Path, metric: str, *, scenario: str | None = None, last: int | None = None, margin: float = MARGIN
) -> list[Entry]:
    """The cells of all runs in ``runs_dir``, or in its folders, oldest run first. ``scenario``: only of this name;
    ``last``: only the newest runs; ``margin``: the share by which a ratio may differ from 1 and count as the same.
    UsageError when there is no such metric, or no run."""
    if metric not in columns.COLUMNS or columns.COLUMNS[metric].role != "outcome":
        raise UsageError(f"--metric {metric}: not a measured column{columns.did_you_mean(metric, ['outcome'])}")
    manifests = readable_manifests(runs_dir)
    names = sorted({str(content["name"]) for content in manifests.values()})
    if scenario and scenario not in names:
        raise UsageError(f"--scenario {scenario}: no run of it in {runs_dir}; there: {', '.join(names) or 'none'}")
    chosen = [run for run, content in manifests.items() if _counts(run, content, scenario, metric)]
    chosen.sort(key=lambda run: int(manifests[run]["started_realtime_ns"]))
    chosen = chosen[-last:] if last else chosen
    if not chosen:
        raise UsageError(f"history: no run with results in {runs_dir}; make one with 'lfp run', or give --runs-dir")
    versions = {run: int(manifests[run].get("v", 1)) for run in chosen}
    return _with_changes([(run, manifests[run], *cell) for run, cell in _cells(versions, metric)], metric, margin)


def readable_manifests(runs_dir: Path) -> dict[Path, dict[str, Any]]:
    """The manifests of the runs in ``runs_dir`` and in its folders. A run whose manifest is damaged, that has links, or
    that a later lfp wrote, is left out, as in the dashboard's table of runs: it must not hide all others."""
    manifests = {}
    for run, content in _manifests(runs_dir):
        with contextlib.suppress(LfpError):
            refuse_links(run)
            run_format.check(run, content)
            manifests[run] = content
    return manifests


def left_out(runs_dir: Path) -> list[str]:
    """Why runs that a later lfp wrote are not among the `readable_manifests`, a line each."""
    lines = []
    for run, content in _manifests(runs_dir):
        try:
            run_format.check(run, content)
        except LfpError as error:
            lines.append(str(error))
    return lines


def _manifests(runs_dir: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for pattern in ("*/manifest.json", "*/*/manifest.json"):
        for file in sorted(runs_dir.glob(pattern)):
            with contextlib.suppress(OSError, LfpError):
                content = None if file.is_symlink() else read_json(file)
                manifest = content if isinstance(content, dict) else {}
                if isinstance(manifest.get("name"), str) and isinstance(manifest.get("started_realtime_ns"), int):
                    yield file.parent, manifest


def _counts(run: Path, content: dict[str, Any], scenario: str | None, metric: str) -> bool:
    """Whether a run has figures of the metric. CPU time means nothing in virtual time."""
    of_cpu = metric.startswith("cpu_") and kind_of_time(content) == "virtual"
    return scenario in (None, content["name"]) and not of_cpu and _has_results(run / "results.parquet")


def _has_results(file: Path) -> bool:
    """Whether the file is there and can be read. A damaged file must not hide the other runs."""
    try:
        result_rows.check(file)
    except (LfpError, OSError):
        return False
    return True


def _cells(chosen: Mapping[Path, int], metric: str) -> Iterator[tuple[Path, tuple[Row, list[Row]]]]:
    """Setting and trials of each cell of each run, in the order of runs and trials. ``chosen``: the runs, each with its
    format."""
    import duckdb  # not on top: it comes with an extra

    files = {str(run / "results.parquet"): run for run in chosen}
    with duckdb.connect() as catalog:
        table, given = "read_parquet(?, union_by_name = true, filename = true)", [list(files)]
        known = [str(row[0]) for row in catalog.execute(f"DESCRIBE SELECT * FROM {table}", given).fetchall()]
        if metric not in known:
            return
        query = f'SELECT * FROM {table} WHERE valid AND "{metric}" IS NOT NULL ORDER BY trial'
        found_rows = [dict(zip(known, row, strict=True)) for row in catalog.execute(query, given).fetchall()]
    kept = (run_format.as_meant(row, chosen[files[row["filename"]]]) for row in found_rows)
    rows = [row for row in kept if row.get(metric) is not None]
    names = ["filename", *(name for name in columns.settings() if name in known)]
    found = cells.groups(rows, names)
    places = {file: place for place, file in enumerate(files)}
    for key in sorted(found, key=lambda one: places[one[0]]):
        yield files[key[0]], (dict(zip(names[1:], key[1:], strict=True)), found[key])


def _with_changes(
    found: Sequence[tuple[Path, dict[str, Any], Row, list[Row]]], metric: str, margin: float
) -> list[Entry]:
    """Entries, each judged against the previous entry of the same cell. The cells of two runs are one comparison."""
    before: dict[tuple[Any, ...], tuple[Path, list[Row]]] = {}
    entries: list[Entry] = []
    pairs: dict[tuple[Path, Path], list[tuple[int, judgement.Pair]]] = {}
    for run, manifest, setting, rows in found:
        key = (manifest["name"], kind_of_time(manifest), *setting.items())
        if key in before:
            last, theirs = before[key]
            pairs.setdefault((last, run), []).append((len(entries), judgement.pair(theirs, rows, metric)))
        before[key] = run, rows
        values = [float(row[metric]) for row in rows]
        entries.append(Entry(run, manifest, setting, len(rows), median(values), min(values), max(values)))
    for some in pairs.values():
        numbers, sides = zip(*some, strict=True)
        for number, cell in zip(numbers, judgement.judge([{}] * len(sides), sides, margin, False), strict=True):
            change = _CHANGES.get(cell.verdict, UNDECIDED)
            entries[number] = replace(entries[number], ratio=cell.ratio, interval=cell.interval, change=change)
    return entries
