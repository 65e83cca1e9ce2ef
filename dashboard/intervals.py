"""Means of repeats with their 95 % confidence intervals (Student's t), for tables that compare settings.

The interval says what other seeds of the same model would give, no more: where all that a seed draws is a small
jitter, it is narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

LEAST_COUNT = 3  # with two values the interval is 9 times as wide as their spread, and says nothing
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """Mean of `count` values; the true mean lies within `mean` ± `half` with 95 % confidence."""

    mean: float
    half: float
    count: int


def interval(values: Sequence[float]) -> Interval | None:
    """The interval of a mean; None with fewer than `LEAST_COUNT` values."""
    if len(values) < LEAST_COUNT:
        return None
    quantile = float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(values) - 1))
    return Interval(float(np.mean(values)), quantile * float(stats.sem(values)), len(values))
