"""The last ten minutes of a running tool, as rates between one answer of its control socket and the next.

Invariants: a rate is growth over the tool's own uptime, so a late sample does not change it. Where there is no answer,
or where the tool restarted, there is a gap and no rate. Nothing here reads a clock. Rejected: keeping whole answers.
They are a hundred times as large.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

KEPT_S = 600.0


class Watched(Protocol):
    """A tool's state. `counters`: amounts that only grow while the tool lives."""

    @property
    def uptime_ns(self) -> int: ...

    @property
    def counters(self) -> Mapping[str, int]: ...


@dataclass(frozen=True)
class Sample:
    """Growth of each counter per second until `at_s`, a time of CLOCK_MONOTONIC; empty: a gap."""

    at_s: float
    per_s: Mapping[str, float]


class Recent:
    """The samples of the last ten minutes, oldest first."""

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque()
        self._last: Watched | None = None

    def take(self, at_s: float, state: Watched | None) -> None:
        """Takes the state at a time; None: there was no answer."""
        self._samples.append(Sample(at_s, _growth(self._last, state)))
        self._last = state
        while self._samples[0].at_s < at_s - KEPT_S:
            self._samples.popleft()

    def samples(self) -> tuple[Sample, ...]:
        """The samples so far."""
        return tuple(self._samples)


def _growth(before: Watched | None, after: Watched | None) -> dict[str, float]:
    if before is None or after is None or after.uptime_ns <= before.uptime_ns:
        return {}
    grown = {name: value - before.counters.get(name, value) for name, value in after.counters.items()}
    if min(grown.values(), default=0) < 0:  # a counter fell: another process is at the same socket
        return {}
    return {name: amount * 1e9 / (after.uptime_ns - before.uptime_ns) for name, amount in grown.items()}
