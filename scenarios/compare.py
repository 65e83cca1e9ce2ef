"""Two runs cell by cell: is one worse, better or the same, and how sure is that.

A cell is all trials with the same settings (repeats). Its effect is the ratio of medians; with enough repeats on both
sides a rank test (Mann–Whitney, exact, two-sided) says whether the difference could be chance, Holm's correction over
all cells keeps the error of the whole comparison at 5 %, and Cliff's delta says how far the two samples lie apart. With
fewer repeats the ratio alone decides, and the cell says so: a rank test cannot reject anything at 3 against 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
from scipy import stats

from netcommon.errors import UsageError
from scenarios.files import read_json
from scenarios.runs import trial_folders

Row = dict[str, Any]
NOT_A_SETTING = frozenset({"trial", "repeat", "seed", "flow"})
# How a trial is run, not what it asks for: virtual time settles these for itself, real time its own way.
OF_THE_CLOCK = frozenset({"poll_ns", "spin_ns", "granularity_ns", "memory_bytes", "zerocopy", "length_bytes"})
ENOUGH = 4  # exact two-sided p of 4 against 4 is at least 0.029
ALPHA = 0.05


@dataclass(frozen=True)
class Cell:
    """One setting in both runs. ``ratio`` run / base of the medians; ``p`` Holm-corrected, None with too few repeats;
    ``delta`` Cliff's, -1 … 1; ``verdict`` same, worse or better."""

    setting: Row
    base: tuple[float, ...]
    run: tuple[float, ...]
    ratio: float
    p: float | None
    delta: float
    verdict: str


@dataclass(frozen=True)
class Comparison:
    """Cells in the base's order; settings that only one of the runs has; trials left out as not valid."""

    metric: str
    varied: tuple[str, ...]
    cells: tuple[Cell, ...]
    unmatched: int
    left_out: int

    def count(self, verdict: str) -> int:
        return sum(cell.verdict == verdict for cell in self.cells)


def compare(
    base: Path, run: Path, *, metric: str, within: float, lower_is_better: bool = False, across: Sequence[str] = ()
) -> Comparison:
    """Cells of two run directories by ``metric``, a column of the results. ``within``: ratio that counts as the same;
    ``across``: settings that may differ. UsageError when the runs have nothing in common."""
    tables, settings = [_rows(path, metric) for path in (base, run)], _settings(base, run, across)
    good = [[row for row in table if row.get("valid") and row.get(metric) is not None] for table in tables]
    ours, theirs = (_cells(rows, settings, metric) for rows in good)
    shared = [key for key in ours if key in theirs]
    if not shared:
        raise UsageError(f"{base.name} and {run.name}: no setting with valid trials in both; "
                         "name settings that may differ with --across")  # fmt: skip
    corrected = _holm([_p(ours[key], theirs[key]) for key in shared])
    cells = tuple(
        _cell(dict(zip(settings, key, strict=True)), ours[key], theirs[key], p, within, lower_is_better)
        for key, p in zip(shared, corrected, strict=True)
    )
    varied = tuple(name for name in settings if len({str(cell.setting[name]) for cell in cells}) > 1)
    left_out = sum(len(table) for table in tables) - sum(len(rows) for rows in good)
    return Comparison(metric, varied, cells, len(ours) + len(theirs) - 2 * len(shared), left_out)


def _rows(run_dir: Path, metric: str) -> list[Row]:
    results = run_dir / "results.parquet"
    if not results.is_file():
        raise UsageError(f"{run_dir}: no results yet; finish it with 'lfp run --resume'")
    table = parquet.read_table(results)
    if metric not in table.column_names:
        raise UsageError(f"--metric {metric}: not a column of {results}; it has {', '.join(table.column_names)}")
    rows: list[Row] = table.to_pylist()
    return rows


def _settings(base: Path, run: Path, across: Sequence[str]) -> list[str]:
    """What both runs' params.json have, but for the trial's own name and what may differ."""
    known = [read_json(trial_folders(path)[0] / "params.json") for path in (base, run)]
    unknown = [name for name in across if name not in known[0]]
    if unknown:
        raise UsageError(f"--across {unknown[0]}: not a setting; allowed: {', '.join(known[0])}")
    aside = NOT_A_SETTING | frozenset(across) | (OF_THE_CLOCK if _virtual(base) != _virtual(run) else frozenset())
    return [name for name in known[0] if name in known[1] and name not in aside]


def _virtual(run_dir: Path) -> bool:
    return bool(read_json(run_dir / "manifest.json").get("virtual"))


def _cells(rows: Iterable[Row], settings: Sequence[str], metric: str) -> dict[tuple[Any, ...], tuple[float, ...]]:
    found: dict[tuple[Any, ...], tuple[float, ...]] = {}
    for row in sorted(rows, key=lambda row: int(row["trial"])):
        key = tuple(row.get(name) for name in settings)
        found[key] = (*found.get(key, ()), float(row[metric]))
    return found


def _p(base: Sequence[float], run: Sequence[float]) -> float | None:
    if min(len(base), len(run)) < ENOUGH:
        return None
    return float(stats.mannwhitneyu(base, run, alternative="two-sided").pvalue)


def _holm(values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction of those that there are."""
    order = sorted((p, n) for n, p in enumerate(values) if p is not None)
    corrected: list[float | None] = [None] * len(values)
    highest = 0.0
    for rank, (p, n) in enumerate(order):
        highest = max(highest, min(1.0, p * (len(order) - rank)))
        corrected[n] = highest
    return corrected


def _cell(
    setting: Row, base: tuple[float, ...], run: tuple[float, ...], p: float | None, within: float, lower_is_better: bool
) -> Cell:
    ratio = median(run) / median(base) if median(base) else float("inf") if median(run) else 1.0
    differs = abs(ratio - 1) > within and (p is None or p < ALPHA)
    better = (ratio < 1) == lower_is_better
    verdict = "same" if not differs else "better" if better else "worse"
    signs = np.sign(np.subtract.outer(run, base))
    return Cell(setting, base, run, ratio, p, float(signs.mean()), verdict)
