"""A trial that has ended, wherever it ran: here, in a guest, or on another machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from scenarios.plan.plan import Trial


@dataclass(frozen=True)
class Ended:
    """A trial that has ended and has its folder in the run. ``wall_s``: wall time where it ran. ``virtual_s``: the
    virtual time that passed; None in real time. ``guest_s``: the part of ``wall_s`` until its guest had shut down; 0
    without a guest. ``manifest``: extra fields of the run's manifest (``sysctls``, ``offloads``)."""

    trial: Trial
    status: dict[str, Any]
    wall_s: float
    virtual_s: float | None = None
    guest_s: float = 0.0
    manifest: dict[str, Any] = field(default_factory=dict)
