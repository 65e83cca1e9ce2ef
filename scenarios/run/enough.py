"""[run] precision: repeats continue, in rounds over all settings, until each setting's interval is narrow enough.

A setting whose 95 % interval of the mean is within ± precision gets no more trials, and none gets more than run.repeat.
The trials that are left out are listed in the manifest (``enough``), and the run is complete without them. Rejected:
stopping the run as a whole, which would measure quiet settings as often as the noisiest one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scenarios.plan.plan import Plan, Trial
from scenarios.statistics import intervals

METRIC = "short_term_bps"
Rows = Mapping[int, Sequence[dict[str, Any]]]


def rounds(plan: Plan, todo: Sequence[Trial], rows: Rows, run: Callable[[list[Trial]], None]) -> list[int]:
    """Runs the trials, all at once where the plan asks for no precision. Returns the numbers of those left out."""
    wanted = plan.base.run.precision
    if wanted is None:
        run(list(todo))
        return []
    left_out = []
    for repeat in range(plan.base.run.repeat):
        own = [trial for trial in todo if trial.repeat == repeat]
        done = {trial.number for trial in own if _is_enough(plan, trial, rows, wanted / 1e9)}
        left_out += sorted(done)
        if still := [trial for trial in own if trial.number not in done]:
            run(still)
    return left_out


def wanted(plan: Plan, content: Mapping[str, Any]) -> int:
    """How many trials make the run complete. ``content``: its manifest."""
    return len(plan.trials) - len(content.get("enough") or [])


def _is_enough(plan: Plan, trial: Trial, rows: Rows, wanted: float) -> bool:
    """Whether every flow of a trial's setting has been measured often enough."""
    settings = len(plan.trials) // plan.base.run.repeat
    alike = [own for number, own in rows.items() if number % settings == trial.number % settings]
    by_flow = list(zip(*alike, strict=True)) if len({len(own) for own in alike}) == 1 else []
    return bool(by_flow) and all(intervals.is_enough(flow, METRIC, wanted) for flow in by_flow)
