"""What the repeats of one setting say together: their span, and the mean's 95 % confidence interval (Student's t).

The interval says only what other seeds of the same model would give. It is narrow where a seed draws nothing but a
small jitter. Repeats that are copies of each other count once (scenarios/plan/cells.py, `observations`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeGuard

import numpy as np

from dashboard.core.runs import Json
from scenarios.plan import cells

LEAST_COUNT = 3  # with two values the interval would be 9 times as wide as their spread, and say nothing
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Span:
    """Median, least and greatest value over valid trials, in the values' unit. `trials`: their numbers; `distinct`: how
    many of them are not copies."""

    median: float
    low: float
    high: float
    trials: tuple[int, ...]
    distinct: int

    @property
    def repeats(self) -> str:
        """`5 repeats, 1 distinct`."""
        return cells.repeats_text(len(self.trials), self.distinct)


def span(rows: Sequence[Json], column: str, first: frozenset[int] = frozenset()) -> Span:
    """The span of a column over one or more repeats. Trials that are in `first` come first."""
    values = [float(row[column]) for row in rows]
    trials = sorted((int(row["trial"]) for row in rows), key=lambda trial: trial not in first)
    return Span(median(values), min(values), max(values), tuple(trials), len(cells.observations(rows)))


def finite(value: object) -> TypeGuard[float]:
    """Whether a column's entry is a finite number."""
    return isinstance(value, int | float) and math.isfinite(value)


@dataclass(frozen=True)
class Interval:
    """The mean of `count` values. The true mean lies within `mean` ± `half` with 95 % confidence."""

    mean: float
    half: float
    count: int


def interval(values: Sequence[float]) -> Interval | None:
    """The interval of a mean; None with fewer than `LEAST_COUNT` values."""
    if len(values) < LEAST_COUNT:
        return None
    from scipy.special import stdtrit  # not on top: it takes a quarter of a second to load, at every run's end

    quantile = float(stdtrit(len(values) - 1, 0.5 + CONFIDENCE / 2))
    return Interval(
        float(np.mean(values)), quantile * float(np.std(values, ddof=1)) / math.sqrt(len(values)), len(values)
    )
