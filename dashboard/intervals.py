"""What repeats of one setting say together: their span, and the mean's 95 % confidence interval (Student's t).

The interval says what other seeds of the same model would give, no more: where all that a seed draws is a small
jitter, it is narrow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeGuard

import numpy as np
from scipy.special import stdtrit  # scipy.stats takes half a second to load, at every run's end

LEAST_COUNT = 3  # with two values the interval is 9 times as wide as their spread, and says nothing
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Span:
    """Median, least and greatest over valid trials, in the values' unit. `trials`: their numbers."""

    median: float
    low: float
    high: float
    trials: tuple[int, ...]


def span(values: Sequence[float], trials: Iterable[int]) -> Span:
    """The span of at least one value."""
    return Span(median(values), min(values), max(values), tuple(trials))


def finite(value: object) -> TypeGuard[float]:
    """Whether a column's entry is a number to reckon with."""
    return isinstance(value, int | float) and math.isfinite(value)


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
    quantile = float(stdtrit(len(values) - 1, 0.5 + CONFIDENCE / 2))
    return Interval(
        float(np.mean(values)), quantile * float(np.std(values, ddof=1)) / math.sqrt(len(values)), len(values)
    )
