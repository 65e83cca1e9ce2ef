"""The capacity of a path's `rate_trace`: `rate:TIME=RATE,…`, `mahimahi:FILE`, `mm-link:FILE`.

For estimates only; the delay box owns the texts' grammar (comet-delay(1)) and has accepted them before. A trace that
cannot be read counts as none.
"""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from netcommon import quantity

_BITS = {"mahimahi": 1500 * 8, "mm-link": 1504 * 8}  # bits of one transmission opportunity
_LONGEST_S = 30 * 365 * 86400.0


@dataclass(frozen=True)
class RateTrace:
    """``times_s`` rise from 0. ``bits``: the total that has left by each time; ``sizing_bps``: the rate by which the
    box sizes its memory. After the last time a file begins again (``repeats``), and steps keep ``last_bps``."""

    times_s: Sequence[float]
    bits: Sequence[float]
    sizing_bps: int
    last_bps: float
    repeats: bool

    def bits_in(self, seconds: float) -> float:
        """The bits that leave in the first ``seconds``."""
        end_s, whole = self.times_s[-1], self.bits[-1]
        if seconds <= end_s:
            return self._within(seconds)
        if not self.repeats:
            return whole + (seconds - end_s) * self.last_bps
        rounds, rest_s = divmod(seconds, end_s)
        return rounds * whole + self._within(rest_s)

    def _within(self, seconds: float) -> float:
        at = bisect.bisect_right(self.times_s, seconds)
        if at == len(self.times_s):
            return self.bits[-1]
        (early, late), (less, more) = self.times_s[at - 1 : at + 1], self.bits[at - 1 : at + 1]
        return less + (more - less) * (seconds - early) / (late - early)

    def seconds_for(self, bits: float) -> float:
        """How long this many bits take."""
        low, high = 0.0, 1.0
        while self.bits_in(high) < bits and high < _LONGEST_S:
            low, high = high, 2 * high
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.bits_in(middle) < bits else (low, middle)
        return high


def read(text: str) -> RateTrace | None:
    """The trace of a path's ``rate_trace``; None without one."""
    kind, _, rest = text.partition(":")
    try:
        if kind == "rate":
            return _steps(rest)
        return _file(rest, _BITS[kind], Path(rest).stat().st_mtime_ns) if kind in _BITS else None
    except (OSError, ValueError):
        return None


def _steps(text: str) -> RateTrace:
    parts = [part.partition("=")[::2] for part in text.split(",")]
    times = [quantity.parse_duration_ns(at) / 1e9 for at, _ in parts]
    rates = [quantity.parse(quantity.RATE, rate) for _, rate in parts]
    spans = ((until - at) * rate for (at, until), rate in zip(itertools.pairwise(times), rates, strict=False))
    return RateTrace(times, [0.0, *itertools.accumulate(spans)], max(rates), rates[-1], repeats=False)


@functools.lru_cache(32)
def _file(name: str, bits_each: int, _changed_ns: int) -> RateTrace:
    """A file of the milliseconds at which a packet may leave. The last one is also the trace's length."""
    import numpy as np  # not on top: a guest loads it slowly, and few paths have a trace

    lines = (line.partition("#")[0] for line in Path(name).read_text(encoding="utf-8").splitlines())
    times_ms = np.array([int(word) for line in lines for word in line.split()], dtype=float)
    end_s = float(times_ms[-1]) / 1e3
    times, counts = np.unique(times_ms / 1e3, return_counts=True)
    bits = np.cumsum(counts) * float(bits_each)
    if times[0] > 0:
        times, bits = np.concatenate([[0], times]), np.concatenate([[0], bits])
    mean_bps = float(bits[-1]) / end_s
    return RateTrace(times.tolist(), bits.tolist(), round(mean_bps), mean_bps, repeats=True)
