"""How often the verdicts of `lfp compare` and `lfp gate` are wrong, over simulated repeats whose true ratio is known.

Bounds are binomial: with a true error of 5 %, one comparison in a million of these counts would exceed them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from scenarios.run.judgement import ALPHA, Side, inside, judge

MARGIN, TRIES = 0.05, 400
MOST = int(stats.binom.ppf(1 - 1e-6, TRIES, ALPHA))
Values = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Values]  # values around a median of 1

DRAWS: dict[str, Draw] = {
    "normal 1 %": lambda rng, n: np.exp(rng.normal(0, 0.01, n)),
    "normal 5 %": lambda rng, n: np.exp(rng.normal(0, 0.05, n)),
    "slow outliers": lambda rng, n: np.exp(-0.02 * (rng.exponential(1, n) - np.log(2))),
    "steps": lambda rng, n: np.exp(0.02 * np.round(rng.normal(0, 1, n))),
    "heavy tails": lambda rng, n: np.exp(0.01 * rng.standard_t(3, n)),
}
REPEATS = [(2, 2), (3, 3), (4, 4), (5, 5), (4, 8), (8, 8), (12, 12), (20, 20), (20, 5)]


def verdicts(draws: tuple[Draw, Draw], repeats: tuple[int, int], ratio: float, seed: int) -> Counter[str]:
    """The verdicts of many comparisons of one cell each."""
    rng, found = np.random.default_rng(seed), Counter[str]()
    for _ in range(TRIES):
        values = [tuple(map(float, draw(rng, n))) for draw, n in zip(draws, repeats, strict=True)]
        base, run = values[0], tuple(ratio * value for value in values[1])
        (cell,) = judge([{}], [(Side(base, base), Side(run, run))], MARGIN, False)
        found[cell.verdict] += 1
    return found


LOW, HIGH = inside(MARGIN)
# True ratios, and the verdicts that are wrong for each. At an end of the margin the verdicts for both sides are just
# barely wrong, so they are wrong most often there.
WRONG = [
    (LOW, {"worse"}),
    (LOW, {"same", "not worse"}),
    (1.0, {"better", "worse"}),
    (HIGH, {"same"}),
    (HIGH, {"better"}),
]


@pytest.mark.parametrize("repeats", REPEATS, ids=str)
@pytest.mark.parametrize("name", DRAWS)
def test_no_verdict_is_wrong_in_more_than_5_per_cent(name: str, repeats: tuple[int, int]) -> None:
    seed, draws = random.randrange(2**32), (DRAWS[name], DRAWS[name])
    found = {ratio: verdicts(draws, repeats, ratio, seed) for ratio in (LOW, 1.0, HIGH)}
    for ratio, wrong in WRONG:
        assert sum(found[ratio][word] for word in wrong) <= MOST, f"{found[ratio]} at {ratio}, seed {seed}"


@pytest.mark.parametrize("repeats", [(4, 4), (8, 8), (20, 20), (20, 5), (5, 20)], ids=str)
@pytest.mark.parametrize("spreads", [(0.001, 0.02), (0.02, 0.001)])
def test_a_build_that_varies_more_than_the_other_is_judged_as_well(
    spreads: tuple[float, float], repeats: tuple[int, int]
) -> None:
    """A rank test alone is wrong in 15 % of comparisons of 20 quiet trials with 5 noisy ones."""
    seed = random.randrange(2**32)
    quiet, noisy = (lambda rng, n, s=s: np.exp(rng.normal(0, s, n)) for s in spreads)
    found = verdicts((quiet, noisy), repeats, inside(MARGIN)[0], seed)
    assert found["worse"] <= MOST and found["same"] + found["not worse"] <= MOST, f"{found}, seed {seed}"


def test_twenty_equal_cells_have_one_false_alarm_in_twenty_comparisons_at_most() -> None:
    """Holm's correction bounds the probability of a false alarm in any cell. Without a margin, the correction alone
    must hold it."""
    seed = random.randrange(2**32)
    rng, alarms, tries = np.random.default_rng(seed), 0, 150
    for _ in range(tries):
        values = [[tuple(rng.normal(100, 3, 8)) for _ in range(2)] for _ in range(20)]
        pairs = [(Side(base, base), Side(run, run)) for base, run in values]
        alarms += any(cell.verdict in ("better", "worse") for cell in judge([{}] * 20, pairs, 0.0, False))
    assert alarms <= stats.binom.ppf(1 - 1e-6, tries, ALPHA), f"{alarms} of {tries}, seed {seed}"


def test_five_repeats_decide_where_repeats_differ_by_1_per_cent() -> None:
    """The default margin is chosen such that equal builds are "same", and a build slower by a tenth is "worse"."""
    seed, draws = random.randrange(2**32), (DRAWS["normal 1 %"], DRAWS["normal 1 %"])
    assert verdicts(draws, (5, 5), 1.0, seed)["same"] >= 0.9 * TRIES, f"seed {seed}"
    assert verdicts(draws, (5, 5), 0.9, seed)["worse"] >= 0.9 * TRIES, f"seed {seed}"
