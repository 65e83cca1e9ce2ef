"""This machine's duration of trials relative to the built-in prices. Each run notes the factor in its manifest, and
forecasts of later runs in the same kind of time use it.

The factor of a run is a median over its trials, so that a few disturbed trials hardly change it. Rejected: computing it
again from the trials of earlier runs. It would read 10,000 files before a run of one trial.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from netcommon import readable
from netcommon.errors import LfpError
from scenarios.plan.plan import Trial
from scenarios.trial.files import read_json

KEY = "speed"  # key of the manifest
_RUNS_LOOKED_AT = 5  # only the newest: the machine may have changed since older ones
_READ = 100  # manifests read at most, so that a run starts at once even among thousands of others


@dataclass(frozen=True)
class Speed:
    """``factor``: wall time taken / time by the built-in prices; 1 without earlier runs."""

    factor: float = 1.0
    trials: int = 0
    runs: int = 0

    def __str__(self) -> str:
        if not self.trials:
            return "by built-in prices; no earlier run in this kind of time says how fast this machine is"
        runs = "the last run" if self.runs == 1 else f"the last {self.runs} runs"
        trials = "1 trial" if self.trials == 1 else f"{self.trials} trials"
        return f"by {trials} of {runs}, which took {readable.number(self.factor, 2)} times the built-in price"


def noted(taken: Sequence[tuple[Trial, float]], price_s: Callable[[Trial], float]) -> dict[str, Any]:
    """What the manifest says about trials and the wall time that each took, in seconds; empty without trials."""
    factors = [taken_s / price_s(trial) for trial, taken_s in taken]
    return {KEY: {"factor": median(factors), "trials": len(factors)}} if factors else {}


def measured(runs_dir: Path, *, virtual: bool) -> Speed:
    """The speed by the newest runs in ``runs_dir`` that had this kind of time."""
    found = []
    for file in sorted(runs_dir.glob("*/manifest.json"), key=_started, reverse=True)[:_READ]:
        content = _manifest(file)
        if _is_noted(content.get(KEY)) and bool(content.get("virtual")) == virtual:
            found.append(content[KEY])
        if len(found) == _RUNS_LOOKED_AT:
            break
    if not found:
        return Speed()
    return Speed(median(one["factor"] for one in found), sum(one["trials"] for one in found), len(found))


def _manifest(file: Path) -> dict[str, Any]:
    """A manifest; empty where it cannot be read, because a damaged run must not keep others from starting."""
    with contextlib.suppress(OSError, LfpError):
        found = read_json(file)
        return found if isinstance(found, dict) else {}
    return {}


def _is_noted(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("factor"), int | float)
        and isinstance(value.get("trials"), int)
    )


def _started(manifest: Path) -> str:
    """When a run started, as its folder's name says it: ``<scenario>-<YYYYmmddTHHMMSS>-<id>``."""
    return "-".join(manifest.parent.name.rsplit("-", 2)[1:])
