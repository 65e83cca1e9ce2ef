"""Whether one side of a cell is worse, better or the same as the other, or whether that is undecided.

A cell is all trials with the same settings (repeats, ``cells``) on two sides. Its effect is the ratio of medians. With
enough repeats on both sides a rank test (Mann–Whitney, two-sided) says whether the difference could be chance. Holm's
correction over all cells keeps the error of the whole comparison at 5 %. Cliff's delta says how far apart the two
samples lie. The interval of the ratio inverts the same test over the ratios of all pairs, so for a cell alone it holds
1 exactly where the test finds nothing. Rejected: a bootstrap, which at five repeats covers far less than it says.

Medians that differ by no more than the threshold are the same. Where they differ by more and the test does not exclude
chance, the cell is undecided. So it is with few repeats: at 3 against 3 the least p is 0.1. Repeats that are copies of
one trial are one observation. Where both sides are such copies nothing is left to chance, and the ratio decides.
Rejected: the ratio alone for few repeats, as it was. It called one of two equal builds worse.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from scenarios.plan import cells
from scenarios.plan.cells import Row

ENOUGH = 4  # exact two-sided p of 4 against 4 is at least 0.029
ALPHA = 0.05
_EXACT_TO = 50  # repeats a side; with more, the rank sum is normal to three digits


@dataclass(frozen=True)
class Side:
    """One side's repeats of a cell. ``values``: one for each trial; ``distinct``: those of trials that are not copies
    of each other."""

    values: tuple[float, ...]
    distinct: tuple[float, ...]

    @classmethod
    def of(cls, rows: Sequence[Row], metric: str) -> Side:
        """From rows of one setting."""
        return cls(*(tuple(float(row[metric]) for row in some) for some in (rows, cells.observations(rows))))

    @property
    def exact(self) -> bool:
        """Whether its repeats are copies of one trial, so that chance plays no part."""
        return len(self.distinct) == 1 < len(self.values)

    @property
    def median(self) -> float:
        return median(self.values)

    def __str__(self) -> str:
        copies = f" ({len(self.distinct)} distinct)" if len(self.distinct) < len(self.values) else ""
        return f"{len(self.values)}{copies}"


@dataclass(frozen=True)
class Cell:
    """One setting on both sides. ``ratio``: of the medians, run / base. ``interval``: the ratio's, 95 %, not corrected
    for other cells; ``p``: Holm-corrected; both are None with too few repeats that differ. ``delta``: Cliff's, -1 … 1;
    None where a side has one observation. ``verdict``: same, worse, better or undecided."""

    setting: Row
    base: Side
    run: Side
    ratio: float
    interval: tuple[float, float] | None
    p: float | None
    delta: float | None
    verdict: str


def judge(
    settings: Sequence[Row], pairs: Sequence[tuple[Side, Side]], within: float, lower_is_better: bool
) -> tuple[Cell, ...]:
    """The cells of one comparison. ``pairs``: base and run of each setting; ``within``: the share by which medians may
    differ and count as the same."""
    corrected = _holm([_p(*pair) for pair in pairs])
    return tuple(
        _cell(setting, *pair, p, within, lower_is_better)
        for setting, pair, p in zip(settings, pairs, corrected, strict=True)
    )


def least_p(base: Side, run: Side) -> float:
    """The least two-sided p of a rank test with so many repeats: that of two samples which do not overlap."""
    n, m = len(base.distinct), len(run.distinct)
    return min(1.0, 2 / math.comb(n + m, n))


def _few(base: Side, run: Side) -> bool:
    return min(len(base.distinct), len(run.distinct)) < ENOUGH


def _p(base: Side, run: Side) -> float | None:
    if _few(base, run):
        return None
    from scipy import stats  # not on top: it takes half a second to load, and few verbs compare

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
    sure = p < ALPHA if p is not None else base.exact and run.exact
    if abs(ratio - 1) <= within:
        verdict = "same"
    elif not sure:
        verdict = "undecided"
    else:
        verdict = "better" if (ratio < 1) == lower_is_better else "worse"
    return Cell(setting, base, run, ratio, _interval(base, run), p, _delta(base, run), verdict)


def _delta(base: Side, run: Side) -> float | None:
    if min(len(base.distinct), len(run.distinct)) == 1:
        return None
    return float(np.sign(np.subtract.outer(run.distinct, base.distinct)).mean())


def _interval(base: Side, run: Side) -> tuple[float, float] | None:
    """The 95 % interval of run / base: the sorted ratios of all pairs, without those at either end that the rank test
    rejects (Moses; Hodges and Lehmann 1963)."""
    if _few(base, run) or min(base.distinct) <= 0:
        return None
    ratios = np.sort(np.divide.outer(run.distinct, base.distinct), axis=None)
    end = _rejected(len(base.distinct), len(run.distinct)) - 1
    return float(ratios[end]), float(ratios[-1 - end])


@functools.cache
def _rejected(n: int, m: int) -> int:
    """How many of the least rank sums U of ``n`` and ``m`` values the test rejects: together they have a probability of
    at most 2.5 % when nothing differs."""
    if max(n, m) > _EXACT_TO:
        from scipy.special import ndtri  # not on top, as above

        return int(n * m / 2 + ndtri(ALPHA / 2) * (n * m * (n + m + 1) / 12) ** 0.5)
    orders = [1, *[0] * (n * m)]  # how many orders of the values give each U: a Gaussian binomial
    for k in range(1, n + 1):
        for u in range(n * m, m + k - 1, -1):
            orders[u] -= orders[u - m - k]
        for u in range(k, n * m + 1):
            orders[u] += orders[u - k]
    least = list(itertools.accumulate(orders))
    return sum(2 * count <= ALPHA * least[-1] for count in least)
