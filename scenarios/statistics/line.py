"""The rate of a path's slowest stage over time, from a trial's params.json: of the sender's network interface, access
line, bottleneck (all channels together), pacer, drain and harmonizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scenarios.plan.path import Direction, PathTable

_STAGES = ("rate", "access_rate", "pace", "drain_rate", "harmonize", "nic_rate")
ON_THE_WIRE = {"ip": 0, "l2": 14, "ethernet": 38}  # what path.framing counts beside the IP packet
Step = tuple[int, float]  # from when on, ns since the box began; bit/s, 0: no rate, or one that changes by itself


def rates(params: Mapping[str, Any]) -> list[Step]:
    """The rate from sender to receiver at the beginning and after each ``change``; empty where nobody knows: the file
    of a model that a change named is not here."""
    known = {key: f"{params[f'{key}_bps']}bit" for key in _STAGES if params.get(f"{key}_bps")}
    known |= {key: params[key] for key in ("channels", "change", "pace_packets") if params.get(key)}
    framed_bits = 8 * ((params.get("mtu") or 1500) + ON_THE_WIRE.get(str(params.get("framing")), 0))
    try:
        path = PathTable.model_validate(known)
        times = [0, *(change.at_ns for change in path.changes())]
        found = [_rate_of(phase, path.nic_rate, framed_bits) for phase in path.phases("ab")]
    except ValueError:
        return []
    if params.get("rate_trace") not in (None, "none"):
        found = [0.0 for _ in found]
    return list(zip(times, found, strict=True))


def _rate_of(phase: Direction, nic_bps: int, framed_bits: int) -> float:
    """``framed_bits``: of a full packet, for a pacer that counts packets."""
    values = phase.values
    if values["rate_trace"] != "none":
        return 0.0
    bounds = [nic_bps, int(values["rate"]) * int(values["channels"]), int(values["pace_packets"]) * framed_bits,
              *(int(values[key]) for key in ("access_rate", "drain_rate", "harmonize"))]  # fmt: skip
    if not values["pace_packets"]:
        bounds.append(int(values["pace"]))
    return float(min((bps for bps in bounds if bps), default=0))
