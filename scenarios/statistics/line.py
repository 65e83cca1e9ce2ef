"""The rate of a path's bottleneck over time, from a trial's params.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scenarios.plan.path import Direction, PathTable

Step = tuple[int, float]  # from when on, ns since the box began; bit/s, 0: no rate, or one that changes by itself


def rates(params: Mapping[str, Any]) -> list[Step]:
    """The rate from sender to receiver at the beginning and after each ``change``; empty where nobody knows: the file
    of a model that a change named is not here."""
    known = {key: f"{params[f'{key}_bps']}bit" for key in ("rate", "access_rate") if params.get(f"{key}_bps")}
    known |= {key: params[key] for key in ("channels", "change") if params.get(key)}
    try:
        path = PathTable.model_validate(known)
        times = [0, *(change.at_ns for change in path.changes())]
        found = [_rate_of(phase) for phase in path.phases("ab")]
    except ValueError:
        return []
    if params.get("rate_trace") not in (None, "none"):
        found = [0.0 for _ in found]
    return list(zip(times, found, strict=True))


def _rate_of(phase: Direction) -> float:
    values = phase.values
    lines = [int(values["rate"]) * int(values["channels"]), int(values["access_rate"])]
    return 0.0 if values["rate_trace"] != "none" else float(min((rate for rate in lines if rate), default=0))
