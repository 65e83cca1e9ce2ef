"""Whether one side of a cell is the same as the other, better, worse, not worse, or whether that is undecided.

A cell is all trials with the same settings (repeats, ``cells``) on two sides. The question is where the ratio
run / base lies: inside the margin, 1 - m to 1 / (1 - m), or beyond it.

| verdict | what the repeats show |
|---|---|
| same | the whole interval of the ratio lies inside the margin (two one-sided tests, Schuirmann 1987) |
| better, worse | the ratio lies beyond the margin: p, corrected for all cells, is below 5 % |
| not worse | the ratio is not beyond the margin's bad end: same or better, which of the two is open |
| undecided | none of these; the repeats are too few, or differ too much |

Interval and p come from two tests: the wider end and the larger p count. The first is the exact rank test
(Mann-Whitney, ties against the verdict) with the interval of Hodges and Lehmann. It holds for any distribution as long
as both sides vary alike. The second is Welch's t-test of the logarithms, which holds for sides that vary differently as
long as they are nearly normal. Each verdict is wrong in at most 5 % of comparisons in which the condition of one of the
two tests is met (tests/py/scenarios/test_scenarios_error_rates.py). Holm's correction over all cells keeps the
probability of any false "better" or "worse" in a whole comparison at 5 %. "Same" needs no correction, because a gate
needs a good verdict on every cell.

Rejected: equal medians as "same", which called an interval of 0.844 to 1.432 the same. The rank test alone: with 20
quiet trials on one side and 5 noisy ones on the other it was wrong in 15 % of comparisons. A bootstrap, which at five
repeats covers far less than it says. Intervals of 90 %, which are usual in tests of equivalence: one interval decides
everything here, and its greater width is needed where the sides vary differently.

Repeats that are copies of one trial are one observation. Where both sides are such copies nothing is left to chance,
and the ratio decides. Values below zero have no ratio, so their cell is undecided.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
import numpy.typing as npt

from netcommon import readable
from scenarios.plan import cells
from scenarios.plan.cells import Row

ALPHA = 0.05
MARGIN = 0.05  # the default; docs/how-to/gate.md says why
VERDICTS = ("same", "better", "worse", "not worse", "undecided")
_EXACT_TO = 50  # repeats per side; with more, the rank sum is normally distributed to three digits
_TIE = 1e-9  # ratios that differ by less count as equal: 0.95 * x / x need not be exactly 0.95
_MOST_REPEATS = 100


@dataclass(frozen=True)
class Side:
    """One side's repeats of a cell. ``values``: one for each trial; ``distinct``: those of trials that are not copies
    of each other; ``exact``: its trials are known to be copies of one, so that chance plays no part."""

    values: tuple[float, ...]
    distinct: tuple[float, ...]
    exact: bool = False

    @property
    def median(self) -> float:
        return median(self.values)

    def __str__(self) -> str:
        copies = f" ({len(self.distinct)} distinct)" if len(self.distinct) < len(self.values) else ""
        return f"{len(self.values)}{copies}"


Pair = tuple[Side, Side]  # base and run


def pair(base: Sequence[Row], run: Sequence[Row], metric: str) -> Pair:
    """Both sides of a cell, from rows of one setting. If two trials of a side are copies of each other, chance plays no
    part on that side. If all trials of both sides are copies of each other, it plays no part on either."""
    alike = len(cells.observations([*base, *run])) == 1
    return _side(base, metric, alike), _side(run, metric, alike)


def _side(rows: Sequence[Row], metric: str, alike: bool) -> Side:
    values, distinct = (tuple(float(row[metric]) for row in some) for some in (rows, cells.observations(rows)))
    return Side(values, distinct, alike or len(distinct) == 1 < len(values))


@dataclass(frozen=True)
class Cell:
    """One setting on both sides. ``ratio``: median of the run / median of the base. ``interval``: the ratio's 95 %
    interval, not corrected for other cells; ``p``: two-sided, of the hypothesis that the ratio is inside the margin,
    Holm-corrected. Both are None where the repeats are too few to decide, or the values have no ratio. ``delta``:
    Cliff's delta, -1 … 1; None where a side has one observation. ``verdict``: one of `VERDICTS`."""

    setting: Row
    base: Side
    run: Side
    ratio: float
    interval: tuple[float, float] | None
    p: float | None
    delta: float | None
    verdict: str


def judge(settings: Sequence[Row], pairs: Sequence[Pair], margin: float, lower_is_better: bool) -> tuple[Cell, ...]:
    """The cells of one comparison. ``pairs``: the sides of each setting; ``margin``: the share by which the ratio may
    differ from 1 and count as the same."""
    corrected = _holm([_p(*sides, margin) for sides in pairs])
    return tuple(
        _cell(setting, *sides, p, margin, lower_is_better)
        for setting, sides, p in zip(settings, pairs, corrected, strict=True)
    )


def inside(margin: float) -> tuple[float, float]:
    """The ratios inside a margin. Its ends are each other's reciprocals, so that base and run may be swapped."""
    return 1 - margin, 1 / (1 - margin)


def interval_text(interval: tuple[float, float]) -> str:
    """``0.98 … 1.05``."""
    return " … ".join(readable.number(end) for end in interval)


def ratio_text(ratio: float, interval: tuple[float, float] | None) -> str:
    """``1.02 (0.98 … 1.05)``."""
    return readable.number(ratio) + (f" ({interval_text(interval)})" if interval else "")


def few(base: Side, run: Side) -> bool:
    """Whether this many repeats can never decide, because even two samples that do not overlap have a p of 5 % or
    more."""
    return least_p(len(base.distinct), len(run.distinct)) >= ALPHA


def least_p(n: int, m: int) -> float:
    """The least two-sided p of a rank test of ``n`` and ``m`` repeats."""
    return min(1.0, 2 / math.comb(n + m, n))


def repeats_for(comparisons: int) -> int:
    """The number of repeats per side that can show "better" or "worse" among this many cells."""
    return next(n for n in range(1, _MOST_REPEATS) if comparisons * least_p(n, n) < ALPHA or n == _MOST_REPEATS - 1)


def _cell(setting: Row, base: Side, run: Side, p: float | None, margin: float, lower_is_better: bool) -> Cell:
    ratio = run.median / base.median if base.median else float("inf") if run.median else 1.0
    interval = _interval(base, run, ratio)
    if base.exact and run.exact and ratio >= 0:
        verdict = _verdict((ratio, ratio), True, margin, lower_is_better)
    elif interval is None or p is None:
        verdict = "undecided"
    else:
        verdict = _verdict(interval, p < ALPHA, margin, lower_is_better)
    return Cell(setting, base, run, ratio, interval, p, _delta(base, run), verdict)


def _verdict(interval: tuple[float, float], sure: bool, margin: float, lower_is_better: bool) -> str:
    """``sure``: p is small enough to say that the ratio lies beyond the margin."""
    (least, most), (low, high) = interval, inside(margin)
    low, high = low * (1 - _TIE), high * (1 + _TIE)
    if low <= least and most <= high:
        return "same"
    below, above = most < low, least > high
    if sure and (below or above):
        return "better" if below == lower_is_better else "worse"
    return "not worse" if (most <= high if lower_is_better else least >= low) else "undecided"


def _ratios(base: Side, run: Side) -> npt.NDArray[np.float64] | None:
    """The ratios of all pairs, sorted; None where repeats are too few or values have no ratio. 0 / 0 is 1."""
    if few(base, run) or min(*base.distinct, *run.distinct) < 0:
        return None
    over, under = np.meshgrid(run.distinct, base.distinct)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sort(np.where(over == under, 1.0, over / under), axis=None)


def _p(base: Side, run: Side, margin: float) -> float | None:
    """Two-sided p of "the ratio lies inside the margin"."""
    ratios = _ratios(base, run)
    if ratios is None:
        return None
    (low, high), shape = inside(margin), (len(base.distinct), len(run.distinct))
    below = _tail(*shape, int((ratios >= low * (1 - _TIE)).sum()))
    above = _tail(*shape, int((ratios <= high * (1 + _TIE)).sum()))
    if (welch := _welch(base, run)) is not None:
        from scipy.special import stdtr  # not on top: few verbs compare

        middle, error, freedom = welch
        below = max(below, float(stdtr(freedom, (middle - math.log(low)) / error)))
        above = max(above, float(stdtr(freedom, (math.log(high) - middle) / error)))
    return min(1.0, 2 * min(below, above))


def _interval(base: Side, run: Side, ratio: float) -> tuple[float, float] | None:
    """The 95 % interval of run / base: the sorted ratios of all pairs, without those at either end that the rank test
    rejects (Moses; Hodges and Lehmann 1963), or Welch's where it reaches further. It holds the ratio of the medians."""
    ratios = _ratios(base, run)
    if ratios is None:
        return None
    end = _rejected(len(base.distinct), len(run.distinct)) - 1
    least, most = min(float(ratios[end]), ratio), max(float(ratios[-1 - end]), ratio)
    if (welch := _welch(base, run)) is None:
        return least, most
    from scipy.special import stdtrit  # not on top, as above

    middle, error, freedom = welch
    reach = float(stdtrit(freedom, 1 - ALPHA / 2)) * error
    return min(least, math.exp(middle - reach)), max(most, math.exp(middle + reach))


def _welch(base: Side, run: Side) -> tuple[float, float, float] | None:
    """Mean of the logarithm of the ratio, its standard error, and Welch's degrees of freedom; None where a value has no
    logarithm, or no value differs."""
    if min(*base.distinct, *run.distinct) <= 0:
        return None
    logs = [np.log(side.distinct) for side in (base, run)]
    errors = [float(values.var(ddof=1)) / len(values) if len(values) > 1 else 0.0 for values in logs]
    if not sum(errors):
        return None
    freedom = sum(errors) ** 2 / sum(e * e / (len(v) - 1) for e, v in zip(errors, logs, strict=True) if len(v) > 1)
    return float(logs[1].mean() - logs[0].mean()), math.sqrt(sum(errors)), freedom


def _holm(values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction of the values that are not None."""
    order = sorted((p, n) for n, p in enumerate(values) if p is not None)
    corrected: list[float | None] = [None] * len(values)
    highest = 0.0
    for rank, (p, n) in enumerate(order):
        highest = max(highest, min(1.0, p * (len(order) - rank)))
        corrected[n] = highest
    return corrected


def _delta(base: Side, run: Side) -> float | None:
    if min(len(base.distinct), len(run.distinct)) == 1:
        return None
    return float(np.sign(np.subtract.outer(run.distinct, base.distinct)).mean())


def _tail(n: int, m: int, u: int) -> float:
    """P(U <= ``u``) of the rank sum of ``n`` and ``m`` values when nothing differs."""
    if max(n, m) > _EXACT_TO:
        from scipy.special import ndtr  # not on top, as above

        return float(ndtr((u + 0.5 - n * m / 2) / (n * m * (n + m + 1) / 12) ** 0.5))
    orders = _orders(n, m)
    return orders[u] / orders[-1]


def _rejected(n: int, m: int) -> int:
    """How many of the least rank sums U of ``n`` and ``m`` values the test rejects: together they have a probability
    below 2.5 % when nothing differs."""
    sums = range(n * m + 1)
    return next(u for u in sums if 2 * _tail(n, m, u) >= ALPHA)


@functools.cache
def _orders(n: int, m: int) -> list[int]:
    """How many orders of ``n`` and ``m`` values have a rank sum U of at most 0, 1, …: the sums of a Gaussian
    binomial."""
    orders = [1, *[0] * (n * m)]
    for k in range(1, n + 1):
        for u in range(n * m, m + k - 1, -1):
            orders[u] -= orders[u - m - k]
        for u in range(k, n * m + 1):
            orders[u] += orders[u - k]
    return list(itertools.accumulate(orders))
