"""The interval that theory allows for a random figure, so that the whole table fails by chance once in a hundred runs.

A table of K random rows, each held to its 99 % interval, fails by chance with probability 1 - 0.99^K. So each row is
held to the interval of confidence 1 - 0.01 / K (Bonferroni). This holds even if the rows depend on each other.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FAMILY_CONFIDENCE = 0.99
RANDOM_ROWS = 11  # rows with random figures: 1 + 2 + 2 of loss; 4 distributions and 2 correlations of jitter
CONFIDENCE = 1 - (1 - FAMILY_CONFIDENCE) / RANDOM_ROWS
SAYING = f"{CONFIDENCE:.3%} interval"


def fresh_seed() -> int:
    """A new seed in every run: a table that holds for one seed only proves little."""
    return secrets.randbelow(2**32)


Interval = tuple[float, float]


def around(mean: float, sd: float) -> Interval:
    """The interval of a normal variable."""
    low, high = stats.norm.interval(CONFIDENCE, mean, sd)
    return float(low), float(high)


def binomial(n: int, p: float) -> Interval:
    """The interval of the number of independent losses."""
    low, high = stats.binom.interval(CONFIDENCE, n, p)
    return float(low), float(high)


def largest_distance(n: int) -> float:
    """The largest distance of a sample's distribution function from the true one (Kolmogorov)."""
    return float(stats.kstwo.ppf(CONFIDENCE, n))


def correlation(r: float, n: int) -> Interval:
    """The interval of the lag-1 autocorrelation of n values of an AR(1) process (Bartlett)."""
    return around(r, float(np.sqrt((1 - r * r) / n)))


@dataclass(frozen=True)
class Chain:
    """A Markov chain of loss. ``lost``: the states in which a packet is lost. Each row of ``steps`` adds up to 1."""

    steps: NDArray[np.float64]
    lost: NDArray[np.bool_]

    @property
    def stationary(self) -> NDArray[np.float64]:
        """The share of packets in each state."""
        n = len(self.lost)
        system = np.vstack([self.steps.T - np.eye(n), np.ones(n)])
        shares: NDArray[np.float64] = np.linalg.lstsq(system, np.append(np.zeros(n), 1.0), rcond=None)[0]
        return shares

    def losses(self, n: int) -> Interval:
        """The interval of the number of lost packets among n, by the chain's central limit theorem. The variance comes
        from its fundamental matrix."""
        share, f = self.stationary, self.lost.astype(float)
        mean = float(share @ f)
        limit = np.tile(share, (len(f), 1))
        fundamental = np.linalg.inv(np.eye(len(f)) - self.steps + limit)
        centred = f - mean
        variance = float(2 * (share * centred) @ fundamental @ centred - (share * centred) @ centred)
        return around(n * mean, float(np.sqrt(n * variance)))

    def burst(self, bursts: int) -> Interval:
        """The interval of the mean length of this many bursts."""
        share, inner = self.stationary, self.steps[np.ix_(self.lost, self.lost)]
        starts = share[~self.lost] @ self.steps[np.ix_(~self.lost, self.lost)]
        starts = starts / starts.sum()
        ones = np.ones(len(inner))
        fundamental = np.linalg.inv(np.eye(len(inner)) - inner)  # phase-type: moments of the time to leave
        mean = float(starts @ fundamental @ ones)
        second = float(starts @ fundamental @ (2 * fundamental - np.eye(len(inner))) @ ones)
        return around(mean, float(np.sqrt(max(second - mean * mean, 0.0) / max(bursts, 1))))


def gilbert(mean_loss: float, mean_burst: float) -> Chain:
    """The chain of Gilbert (1960): every packet is lost in the bad state, and none in the good one."""
    leave = 1 / mean_burst
    enter = leave * mean_loss / (1 - mean_loss)
    return Chain(np.array([[1 - enter, enter], [leave, 1 - leave]]), np.array([False, True]))


def four_states(p13: float, p31: float, p32: float, p23: float, p14: float) -> Chain:
    """The chain of tc-netem's `loss state`: 1 received, 2 received within a burst, 3 lost within a burst, 4 lost
    alone."""
    steps = np.array([[1 - p13 - p14, 0, p13, p14], [0, 1 - p23, p23, 0], [p31, p32, 1 - p31 - p32, 0], [1, 0, 0, 0]])
    return Chain(steps.astype(float), np.array([False, False, True, True]))
