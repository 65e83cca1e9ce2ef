"""One trial in virtual and in real time, each with its wall time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netcommon.ledger import Ledger
from scenarios.network.topology import Topology
from scenarios.plan.plan import Trial
from scenarios.run import results
from scenarios.trial import trial
from scenarios.trial.ended import Ended
from scenarios.virtual import engine


@dataclass(frozen=True)
class Measured:
    """A trial: its wall time, in virtual time also the part of it until the guest was off, and its row of the
    results."""

    wall_s: float
    row: dict[str, Any]
    guest_s: float = 0.0

    @property
    def goodput_bps(self) -> float | None:
        """The trial's goodput. None where the trial failed or is not valid, for example because the machine was
        late."""
        found: float | None = self.row["short_term_bps"]
        return found if self.row["valid"] else None


def in_virtual_time(one: Trial, folder: Path, ledger: Ledger, box: str = "auto") -> Measured:
    """Runs a trial in a guest, with its files in ``folder``."""
    found: list[Ended] = []
    (folder / "trials").mkdir(parents=True, exist_ok=True)
    engine.run_all(folder, [one], ledger, 1, box, found.append)
    return Measured(found[0].wall_s, results.row(trial.folder_of(folder, one.number)), found[0].guest_s)


def in_real_time(one: Trial, folder: Path, ledger: Ledger) -> Measured:
    """Runs a trial on this machine, with its files in ``folder``."""
    scratch = folder / "scratch"
    scratch.mkdir(parents=True)
    (folder / "trials").mkdir(exist_ok=True)
    began_s = time.monotonic()
    with Topology.of(one.setting, ledger) as net:
        trial.run_trial(net, one, folder, scratch, ledger)
    return Measured(time.monotonic() - began_s, results.row(trial.folder_of(folder, one.number)))
