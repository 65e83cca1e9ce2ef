"""Two runs cell by cell: whether one is worse, better or the same, and how sure that is.

A cell is all trials with the same settings (repeats, ``cells``). Its effect is the ratio of medians. With enough
repeats on both sides a rank test (Mann–Whitney, exact, two-sided) says whether the difference could be chance. Holm's
correction over all cells keeps the error of the whole comparison at 5 %. Cliff's delta says how far apart the two
samples lie. With fewer repeats the ratio alone decides, and the cell says so: at 3 against 3 a rank test cannot reject
anything. Repeats that are copies of one trial are one observation: five copies prove no more than one.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
from scipy import stats

from netcommon import readable
from netcommon.errors import UsageError
from scenarios.plan import cells, columns
from scenarios.plan.cells import Key, Row
from scenarios.run.runs import trial_folders
from scenarios.trial.files import read_json

ENOUGH = 4  # exact two-sided p of 4 against 4 is at least 0.029
ALPHA = 0.05


@dataclass(frozen=True)
class Side:
    """One run's repeats of a cell. ``values``: one for each trial; ``distinct``: those of trials that are not copies of
    each other."""

    values: tuple[float, ...]
    distinct: tuple[float, ...]

    @classmethod
    def of(cls, rows: Sequence[Row], metric: str) -> Side:
        """From rows of one setting."""
        return cls(*(tuple(float(row[metric]) for row in some) for some in (rows, cells.observations(rows))))

    @property
    def median(self) -> float:
        return median(self.values)

    def __str__(self) -> str:
        copies = f" ({len(self.distinct)} distinct)" if len(self.distinct) < len(self.values) else ""
        return f"{len(self.values)}{copies}"


@dataclass(frozen=True)
class Cell:
    """One setting in both runs. ``ratio``: of the medians, run / base. ``p``: Holm-corrected; None with too few repeats
    that differ. ``delta``: Cliff's, -1 … 1; None where a side has one observation. ``verdict``: same, worse or
    better."""

    setting: Row
    base: Side
    run: Side
    ratio: float
    p: float | None
    delta: float | None
    verdict: str


@dataclass(frozen=True)
class Comparison:
    """Cells in the base's order. ``varied``: columns that tell the cells apart, each with the scenario's name for it.
    ``unmatched``: how many settings only one of the runs has; ``left_out``: how many trials are not valid."""

    metric: str
    varied: dict[str, str]
    cells: tuple[Cell, ...]
    unmatched: int
    left_out: int

    def count(self, verdict: str) -> int:
        return sum(cell.verdict == verdict for cell in self.cells)


@dataclass(frozen=True)
class Table:
    """A run's results, ready to be grouped. ``asked``: the columns that the params.json of its trials have."""

    path: Path
    virtual: bool
    sweep: tuple[str, ...]
    asked: frozenset[str]
    rows: tuple[Row, ...]

    @classmethod
    def load(cls, path: Path) -> Table:
        """The table of a run directory; UsageError if it has no results."""
        results = path / "results.parquet"
        if not results.is_file():
            raise UsageError(f"{path}: no results yet; finish it with 'lfp run --resume'")
        manifest = read_json(path / "manifest.json")
        sweep = tuple((manifest.get("scenario") or {}).get("sweep") or ())
        asked = frozenset(read_json(trial_folders(path)[0] / "params.json"))
        rows = sorted(parquet.read_table(results).to_pylist(), key=lambda row: int(row["trial"]))
        return cls(path, bool(manifest.get("virtual")), sweep, asked, tuple(rows))

    def good(self, metric: str) -> list[Row]:
        """Valid trials that have the metric."""
        return [row for row in self.rows if row.get("valid") and row.get(metric) is not None]


def compare(
    base: Path, run: Path, *, metric: str, within: float, lower_is_better: bool = False, across: Sequence[str] = ()
) -> Comparison:
    """Cells of two run directories by ``metric``, a column of the results. ``within``: the share by which medians may
    differ and count as the same. ``across``: settings that may differ, under the scenario's or the results' name.
    UsageError when the runs have no setting in common, or when a cell would mix trials of one run whose settings
    differ."""
    ours, theirs = Table.load(base), Table.load(run)
    _check_metric(metric, ours, theirs)
    names = _names(ours, theirs, _aside(across, ours, theirs))
    grouped = [_unmixed(table, names, metric) for table in (ours, theirs)]
    shared = [key for key in grouped[0] if key in grouped[1]]
    if not shared:
        raise UsageError(_nothing_in_common(ours, theirs, names))
    pairs = [(Side.of(grouped[0][key], metric), Side.of(grouped[1][key], metric)) for key in shared]
    corrected = _holm([_p(*pair) for pair in pairs])
    settings = [dict(zip(names, key, strict=True)) for key in shared]
    found = tuple(
        _cell(setting, *pair, p, within, lower_is_better)
        for setting, pair, p in zip(settings, pairs, corrected, strict=True)
    )
    left_out = sum(len(table.rows) - len(table.good(metric)) for table in (ours, theirs))
    unmatched = sum(len(sides) for sides in grouped) - 2 * len(shared)
    return Comparison(metric, _varied(settings, ours), found, unmatched, left_out)


def _check_metric(metric: str, *tables: Table) -> None:
    for table in tables:
        if metric not in columns.COLUMNS or columns.COLUMNS[metric].role != "outcome":
            raise UsageError(f"--metric {metric}: not a measured column{columns.did_you_mean(metric, ['outcome'])}")
        if metric.startswith("cpu_") and table.virtual:
            raise UsageError(
                f"--metric {metric}: {table.path.name} ran in virtual time, where computing takes no time and a "
                "process's CPU time counts its looks at the clock; compare runs in real time"
            )
        if table.rows and metric not in table.rows[0]:
            raise UsageError(f"--metric {metric}: {table.path.name} has no such column; an older version wrote it")


def _aside(across: Sequence[str], *tables: Table) -> frozenset[str]:
    """Columns that may differ between the runs."""
    found: set[str] = set()
    for text in across:
        named = [name for name in columns.filled_by(text) or columns.find(text) if name in columns.settings()]
        if not named:
            raise UsageError(f"--across {text}: not a setting{columns.did_you_mean(text, ['setting'])}")
        found.update(named)
    if "delay_ns" in found or "ba_delay_ns" in found:
        found.add("rtt_ns")
    if len({table.virtual for table in tables}) > 1:
        found |= columns.OF_THE_CLOCK
    return frozenset(found)


def _names(ours: Table, theirs: Table, aside: frozenset[str]) -> list[str]:
    """Settings that both runs have, but for those that may differ."""
    return [name for name in columns.settings() if name in ours.asked & theirs.asked and name not in aside]


def _unmixed(table: Table, names: Sequence[str], metric: str) -> dict[Key, list[Row]]:
    """Valid trials by their settings. UsageError when trials of one run would be taken for repeats of each other."""
    found = cells.groups(table.good(metric), names)
    for rows in found.values():
        if mixed := cells.telling(rows, names, cells.preferred(table.sweep)):
            spelled = cells.name_of(mixed[0], table.sweep)
            raise UsageError(
                f"{table.path.name}: its trials differ in {spelled} ({_values(rows, mixed[0])}), so they are no "
                f"repeats of each other; without --across {spelled} each value is compared with its like"
            )
    return found


def _values(rows: Iterable[Row], name: str, most: int = 4) -> str:
    """``30 KB, 60 KB``: the first few values of a column."""
    values = list(dict.fromkeys(row.get(name) for row in rows))
    more = ", …" if len(values) > most else ""
    return ", ".join(readable.distinct(name, values[:most])) + more


def _nothing_in_common(ours: Table, theirs: Table, names: Sequence[str]) -> str:
    """The error when no setting is in both runs: the settings that differ, and the command that lets them differ."""
    sides = [[row for row in table.rows if row.get("valid")] for table in (ours, theirs)]
    for table, rows in zip((ours, theirs), sides, strict=True):
        if not rows:
            return f"{table.path.name}: no valid trial to compare"
    apart = [name for name in names if not _value_set(sides[0], name) & _value_set(sides[1], name)]
    if not apart:
        return f"{ours.path.name} and {theirs.path.name}: no combination of settings is in both"
    spelled = _spelled(apart, (*ours.sweep, *theirs.sweep))
    shown = [name for name in cells.telling([row for rows in sides for row in rows], (), apart) if name in apart]
    differ = "; ".join(f"{columns.spelling(name)} ({' against '.join(_values(rows, name) for rows in sides)})"
                       for name in shown)  # fmt: skip
    runs = " ".join(shlex.quote(str(table.path)) for table in (ours, theirs))
    line = f"lfp compare {runs} " + " ".join(f"--across {name}" for name in spelled)
    return f"the runs differ in {differ}; to compare them all the same: {line}"


def _spelled(names: Iterable[str], sweep: Sequence[str]) -> list[str]:
    """The scenario's names of the settings that fill these columns, each column once."""
    found: list[str] = []
    for name in names:
        if not any(name in columns.filled_by(dotted) for dotted in found):
            found.append(cells.name_of(name, sweep))
    return found


def _value_set(rows: Iterable[Row], name: str) -> set[Any]:
    return {row.get(name) for row in rows}


def _varied(settings: Sequence[Row], table: Table) -> dict[str, str]:
    names = cells.telling(settings, (), cells.preferred(table.sweep))
    return {name: cells.heading(name, table.sweep) for name in names}


def _p(base: Side, run: Side) -> float | None:
    if min(len(base.distinct), len(run.distinct)) < ENOUGH:
        return None
    return float(stats.mannwhitneyu(base.distinct, run.distinct, alternative="two-sided").pvalue)


def _holm(values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction of the values that are not None."""
    order = sorted((p, n) for n, p in enumerate(values) if p is not None)
    corrected: list[float | None] = [None] * len(values)
    highest = 0.0
    for rank, (p, n) in enumerate(order):
        highest = max(highest, min(1.0, p * (len(order) - rank)))
        corrected[n] = highest
    return corrected


def _cell(setting: Row, base: Side, run: Side, p: float | None, within: float, lower_is_better: bool) -> Cell:
    ratio = run.median / base.median if base.median else float("inf") if run.median else 1.0
    differs = abs(ratio - 1) > within and (p is None or p < ALPHA)
    better = (ratio < 1) == lower_is_better
    verdict = "same" if not differs else "better" if better else "worse"
    return Cell(setting, base, run, ratio, p, _delta(base, run), verdict)


def _delta(base: Side, run: Side) -> float | None:
    if min(len(base.distinct), len(run.distinct)) == 1:
        return None
    return float(np.sign(np.subtract.outer(run.distinct, base.distinct)).mean())
