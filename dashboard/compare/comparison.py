"""Two runs cell by cell, as `lfp compare` judges them, for a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.compare.sides import SidePoint, Sides, sides
from dashboard.core.parts import Table
from dashboard.core.runs import Run
from netcommon.errors import LfpError
from scenarios.plan import columns
from scenarios.run import compare, judgement

_LESS_IS_BETTER = ("_ns", "retransmits", "timeouts", "stopped_share")  # ends of results' names


@dataclass(frozen=True)
class Compared:
    """`verdict` True: every cell is the same, better or not worse; False: a cell is worse; None: none is worse, but a
    cell is undecided. `notes`: sentences about how this was judged. `sides`: the same as curves; None where no setting
    differs."""

    verdict: bool | None
    summary: str
    table: Table
    notes: tuple[str, ...]
    sides: Sides | None


def compared(base: Run, run: Run, metric: str, across: Sequence[str] = ()) -> Compared:
    """Compares `run` with `base` by a result. `across`: settings that may differ. Raises UsageError when they have no
    setting in common."""
    lower = metric.endswith(_LESS_IS_BETTER)
    found = compare.compare(
        base.path, run.path, metric=metric, margin=judgement.MARGIN, lower_is_better=lower, across=across
    )
    rows = tuple(compare.rows(found))
    head = compare.headings(found)
    notes = (f"{'Less' if lower else 'More'} is better.", *(_sentence(line) for line in compare.remarks(found)))
    verdict = False if found.count("worse") else None if found.count("undecided") else True
    return Compared(
        verdict, compare.summary(found), Table(head, rows, frozenset(range(len(head) - 1))), notes, _sides(found)
    )


def may_differ(base: Run, run: Run) -> list[str]:
    """The settings in which two runs differ, as scenarios spell them; none where a run has no results."""
    try:
        return compare.apart(base.path, run.path)
    except LfpError:
        return []


def _sentence(line: str) -> str:
    return f"{line[:1].upper()}{line[1:]}."


def _sides(comparison: compare.Comparison) -> Sides | None:
    points = [
        SidePoint(
            0,
            cell.base.values,
            cell.run.values,
            cell.ratio - 1 if math.isfinite(cell.ratio) else None,
            (cell.interval[0] - 1, cell.interval[1] - 1) if cell.interval else None,
        )
        for cell in comparison.cells
    ]
    return sides(
        comparison.varied,
        [cell.setting for cell in comparison.cells],
        points,
        comparison.metric,
        columns.label(comparison.metric),
    )
