"""Real or virtual time: what was asked for, what was chosen, and why. ``lfp run --time auto`` chooses here; the module
is pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from scenarios.plan import lateness
from scenarios.plan.model import Scenario
from scenarios.run import fitness
from scenarios.run.fitness import Fitness

Time = Literal["real", "virtual"]
Asked = Literal["real", "virtual", "auto"]
_PRICED = "[cpu] gives system calls a cost, which is possible in virtual time alone"
ADVICE = "this machine disturbs real time: run `lfp virtual --build` once, then `--time virtual`"


@dataclass(frozen=True)
class TimeChoice:
    """``advice``: what the user can do to get a better choice; empty when the choice is good."""

    asked: Asked
    chosen: Time
    why: str
    measured: Fitness | None = None
    advice: str = ""

    @classmethod
    def given(cls, chosen: Time) -> TimeChoice:
        """The choice that the user asked for."""
        return cls(chosen, chosen, "asked for")

    def as_json(self) -> dict[str, Any]:
        """The choice for the manifest."""
        measured = None if self.measured is None else self.measured.as_json()
        said = {"asked": self.asked, "chosen": self.chosen, "why": self.why, "advice": self.advice}
        return said | {"measured": measured}


def choose_time(settings: list[Scenario], measured: Fitness, no_virtual: str | None, no_real: str | None) -> TimeChoice:
    """Real time where the machine's figures allow every setting; otherwise virtual time where it is available, and real
    time with advice where it is not. ``no_virtual``, ``no_real``: why that kind of time is not available here at all;
    None: it is."""
    found = [f"no real time here: {no_real}"] if no_real else fitness.objections(measured, settings)
    if any(one.cpu.has_price for one in settings):
        found = [_PRICED]
    if not found:
        tightest = min(settings, key=lateness.limit_ns)
        return TimeChoice("auto", "real", fitness.timers(measured, tightest), measured)
    why = "; ".join(found)
    if no_virtual is None:
        return TimeChoice("auto", "virtual", why, measured)
    return TimeChoice("auto", "real", f"{why}; but {no_virtual}", measured, ADVICE)
