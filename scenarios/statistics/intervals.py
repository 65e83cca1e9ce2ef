"""What the repeats of one setting say together: median, interval, outliers; and whether they are enough.

| figure | how |
|---|---|
| interval of the median | BCa bootstrap, 95 % (scipy.stats.bootstrap), from 5 observations on |
| outliers | values beyond Tukey's fences (1.5 interquartile ranges from the quartiles), from 5 observations on |
| precision | half of the mean's 95 % interval (Student's t) as a share of the mean |

Outliers are named and never left out. Copies of one trial are one observation (`cells.observations`). A bootstrap of
few values is too narrow (tests/py/scenarios/test_scenarios_statistics.py measures by how much). So `compare` does not
use it, and `run.precision` takes Student's t, whose coverage at few values is right for values that are nearly normal.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scenarios.plan import cells
from scenarios.plan.cells import Row

ENOUGH = 5  # observations, for an interval, for outliers and for stopping
CONFIDENCE = 0.95
_FENCE = 1.5
_RESAMPLES = 2000
_SEED = 6349  # the same values give the same interval


@dataclass(frozen=True)
class Summary:
    """A metric over the repeats of one setting. ``setting``: the columns that distinguish it from others. ``interval``:
    of the median; None: too few observations. ``outliers``: trials whose values are outliers."""

    setting: Row
    trials: int
    distinct: int
    median: float
    interval: tuple[float, float] | None
    outliers: tuple[int, ...]


def summaries(rows: Sequence[Row], metric: str, names: Sequence[str]) -> list[Summary]:
    """A summary for each setting. ``rows``: valid trials that have the metric; ``names``: columns that distinguish
    settings."""
    return [_summary(dict(zip(names, key, strict=True)), own, metric) for key, own in cells.groups(rows, names).items()]


def _summary(setting: Row, rows: Sequence[Row], metric: str) -> Summary:
    observed = cells.observations(rows)
    values = [float(row[metric]) for row in observed]
    apart = {id(row) for row, far in zip(observed, outlying(values), strict=True) if far}
    numbers = tuple(int(row["trial"]) for row in observed if id(row) in apart)
    median = float(np.median([float(row[metric]) for row in rows]))
    return Summary(setting, len(rows), len(observed), median, median_interval(values), numbers)


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of the median; None with too few values."""
    if len(values) < ENOUGH:
        return None
    if len(set(values)) == 1:
        return values[0], values[0]
    from scipy import stats  # not on top: it takes half a second to load, and few verbs need it

    with warnings.catch_warnings():  # where nearly all values are equal, the correction has nothing to go by
        warnings.simplefilter("ignore")
        found = stats.bootstrap(
            (np.asarray(values),),
            np.median,
            confidence_level=CONFIDENCE,
            n_resamples=_RESAMPLES,
            method="BCa",
            random_state=np.random.default_rng(_SEED),
        ).confidence_interval
    known = math.isfinite(found.low) and math.isfinite(found.high)
    return (float(found.low), float(found.high)) if known else (min(values), max(values))


def outlying(values: Sequence[float]) -> list[bool]:
    """Whether each value lies beyond Tukey's fences; none does with too few values."""
    if len(values) < ENOUGH:
        return [False] * len(values)
    low, high = np.percentile(values, [25, 75])
    reach = _FENCE * (high - low)
    return [bool(value < low - reach or value > high + reach) for value in values]


def precision(values: Sequence[float]) -> float | None:
    """Half of the mean's 95 % interval as a share of the mean; None with too few values, or a mean of 0."""
    if len(values) < ENOUGH or not (mean := float(np.mean(values))):
        return None
    from scipy.special import stdtrit

    quantile = float(stdtrit(len(values) - 1, 0.5 + CONFIDENCE / 2))
    return quantile * float(np.std(values, ddof=1)) / math.sqrt(len(values)) / abs(mean)


def is_enough(rows: Sequence[Row], metric: str, wanted: float) -> bool:
    """Whether the repeats of one setting are enough: their interval is narrow, or more repeats would be copies too."""
    good = [row for row in rows if row.get("valid") and row.get(metric) is not None]
    if len(good) < ENOUGH:
        return False
    values = [float(row[metric]) for row in cells.observations(good)]
    found = precision(values)
    return len(values) == 1 or (found is not None and found <= wanted)
