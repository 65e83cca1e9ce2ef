"""The testbed from Python: read runs, and build and run scenarios.

    import lfp

    run = lfp.load("last")                 # a run by path, by name, or the last one
    run.results("pandas")                  # one row for each trial and flow
    run.trial(0).table("tcp_info")         # any table of a trial, on the trial's own time axis

    scenario = lfp.Scenario("lfp-syndrome").set("transfer.window", ["16KB", "64KB"])
    run = scenario.run(time="virtual")

Tables are Arrow's unless you ask for "pandas" or "polars". Every failure is an `lfp.LfpError`, whose text is one line.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lfp.scenario import Scenario, run
    from lfp.tables import Run, Trial, load
    from netcommon.errors import LfpError

__all__ = ["LfpError", "Run", "Scenario", "Trial", "load", "run"]

# Loaded when used, because the command `lfp` and its completion load this package, too, and need neither.
_MODULES = {
    "LfpError": "netcommon.errors",
    "Run": "lfp.tables",
    "Scenario": "lfp.scenario",
    "Trial": "lfp.tables",
    "load": "lfp.tables",
    "run": "lfp.scenario",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'lfp' has no attribute '{name}'")
    return getattr(importlib.import_module(_MODULES[name]), name)
