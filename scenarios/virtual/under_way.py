"""How far a trial in virtual time is while it runs: its clock, its speed, and the wall time that it still takes.

A guest shows its clock once a virtual second. The speed is taken over the last ten seconds of wall time, because a
transfer's first seconds move little data and pass fast. Before the transfer has moved the clock twice, only the price
of the trial says how long it takes. Everything here is pure: the times are passed in.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from netcommon import readable
from scenarios.plan import estimate
from scenarios.plan.plan import Trial

BEGIN_S = 1.0  # what the clock shows when the transfer begins: init._START_S
_RECENT_S = 10.0  # wall time over which the speed is taken


@dataclass(frozen=True)
class Look:
    """A trial at one moment. ``clock_s`` and ``of_s``: virtual seconds of its transfer so far, and in all. ``speed``:
    virtual seconds a second; None: not known yet. ``left_s``: wall time."""

    trial: Trial
    clock_s: float
    of_s: float
    speed: float | None
    left_s: float

    def __str__(self) -> str:
        """``12 of 40 s, 0.31 virtual s/s``."""
        clock = f"{round(self.clock_s)} of {readable.number(self.of_s, 3)} s"
        return clock if self.speed is None else f"{clock}, {readable.number(self.speed, 2)} virtual s/s"

    def figures(self) -> dict[str, float | None]:
        """The figures by name."""
        return {"clock_s": self.clock_s, "of_s": self.of_s, "speed": self.speed, "left_s": self.left_s}


class UnderWay:
    """A trial that runs. ``price_s``: the wall time that it is expected to take."""

    def __init__(self, trial: Trial, price_s: float) -> None:
        self._trial, self._price_s = trial, price_s
        self._of_s = estimate.transfer_s(trial.setting)
        self._marks: deque[tuple[float, float]] = deque()  # (wall time, clock) whenever the clock had moved

    def look(self, wall_s: float, clock_s: float) -> Look:
        """Takes a reading of the guest's clock, ``clock_s``, made ``wall_s`` after the start; returns how far the trial
        is."""
        clock_s -= BEGIN_S
        if clock_s > 0 and (not self._marks or clock_s > self._marks[-1][1]):
            self._marks.append((wall_s, clock_s))
            while len(self._marks) > 2 and wall_s - self._marks[1][0] > _RECENT_S:
                self._marks.popleft()
        speed = self._speed(wall_s)
        if speed is None:
            return Look(self._trial, max(clock_s, 0.0), self._of_s, None, max(self._price_s - wall_s, 0.0))
        since_s = wall_s - self._marks[-1][0]
        left_s = max((self._of_s - self._marks[-1][1]) / speed - since_s, 0.0)
        return Look(self._trial, min(max(clock_s, 0.0), self._of_s), self._of_s, speed, left_s)

    def _speed(self, wall_s: float) -> float | None:
        """The recent speed of the clock; None: not known yet. If the clock has not moved for longer than its last step
        took, the speed is computed as if the next step came now."""
        if len(self._marks) < 2:
            return None
        (first_s, from_s), (last_s, to_s) = self._marks[0], self._marks[-1]
        step_s = self._marks[-1][1] - self._marks[-2][1]
        return min(
            (to_s - from_s) / max(last_s - first_s, 1e-3), (to_s + step_s - from_s) / max(wall_s - first_s, 1e-3)
        )
