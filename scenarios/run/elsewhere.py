"""Trials that other machines run: what the runner asks of them, and what it is told. It knows no more about them, so it
works without the packages of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from scenarios.plan.plan import Plan, Trial


@dataclass(frozen=True)
class Ended:
    """A trial that has ended and has its folder in the run. ``wall_s``: what it took where it ran. ``virtual_s``: how
    far its clock came; None in real time. ``told``: what the manifest wants to know (``sysctls``, ``offloads``)."""

    trial: Trial
    status: dict[str, Any]
    wall_s: float
    virtual_s: float | None = None
    told: dict[str, Any] = field(default_factory=dict)


class Elsewhere(Protocol):
    """Other machines that run trials."""

    @property
    def slots(self) -> int:
        """How many trials run at a time, as far as is known."""

    def ready(self, plan: Plan, content: dict[str, Any]) -> dict[str, Any]:
        """Checks that they can run the plan; called before the first trial. ``content``: the run's manifest. Returns
        what else the manifest says. LfpError when they cannot."""

    def run_all(self, run_dir: Path, todo: list[Trial], ended: Callable[[Ended], None]) -> None:
        """Runs the trials in order, and calls ``ended`` for each that has its folder in ``run_dir``. LfpError ends the
        run."""
