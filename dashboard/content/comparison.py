"""Two runs cell by cell, as `lfp compare` judges them, for a page."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.content.parts import Table
from dashboard.data.runs import Run
from scenarios.run import compare

WITHIN = 0.05  # as `lfp compare` has it by default
_LESS_IS_BETTER = ("_ns", "retransmits", "timeouts", "stopped_share")  # ends of results' names


@dataclass(frozen=True)
class Compared:
    """`verdict` True: no cell is worse. `notes`: sentences about how this was judged."""

    verdict: bool
    summary: str
    table: Table
    notes: tuple[str, ...]


def compared(base: Run, run: Run, metric: str) -> Compared:
    """`run` beside `base` by a result. Raises UsageError when they have no setting in common."""
    lower = metric.endswith(_LESS_IS_BETTER)
    found = compare.compare(base.path, run.path, metric=metric, within=WITHIN, lower_is_better=lower)
    rows = tuple(compare.rows(found))
    head = compare.headings(found)
    notes = (f"{'Less' if lower else 'More'} is better. Medians that differ by up to 5 % are the same.",
             *compare.remarks(found))  # fmt: skip
    return Compared(not found.count("worse"), compare.summary(found),
                    Table(head, rows, frozenset(range(len(head) - 1))), notes)  # fmt: skip
