"""The rate of a path's slowest stage over time, from a trial's params.json; and the policer in front of the bottleneck.
The stages are the sender's network interface, access line, bottleneck (all channels together), pacer, drain and
harmonizer, of [path] and of the pair's own path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scenarios.plan import pair_path, policer
from scenarios.plan.path import Direction, PathTable
from scenarios.plan.policer import Policer

_STAGES = ("rate", "access_rate", "pace", "drain_rate", "harmonize", "nic_rate")
ON_THE_WIRE = {"ip": 0, "l2": 14, "ethernet": 38}  # bytes that path.framing counts in addition to the IP packet
Step = tuple[int, float]  # begin, ns since the box's start; rate, bit/s (0: none, or one that changes by itself)


@dataclass(frozen=True)
class Stage:
    """What passes from ``since_ns`` on, counted from the box's start. ``rate_bps`` 0: there is no rate, or, with
    ``traced``, one that changes by itself. A policer, if there is one, lets nothing pass beyond its own rate and
    burst."""

    since_ns: int
    rate_bps: float
    traced: bool
    policer: Policer | None


def rates(params: Mapping[str, Any]) -> list[Step]:
    """The rate from sender to receiver at the beginning and after each ``change``; empty if they are unknown, because
    the file of a model that a change names is missing. A policer does not count here: its burst passes at the line's
    rate (`stages`)."""
    return [(stage.since_ns, stage.rate_bps) for stage in stages(params)]


def stages(params: Mapping[str, Any]) -> list[Stage]:
    """The same with the policers."""
    path, *own = [_of_path(one) for one in pair_path.paths(params)]
    return [_in_a_row(stage, before[0]) for stage in path for before in own] if own else path


def _in_a_row(stage: Stage, before: Stage) -> Stage:
    """A stage of [path] behind the pair's own path, which never changes. What passes two policers is not known."""
    traced = stage.traced or before.traced or bool(stage.policer and before.policer)
    bounds = [one.rate_bps for one in (stage, before) if one.rate_bps]
    return Stage(stage.since_ns, 0.0 if traced else min(bounds, default=0.0), traced, stage.policer or before.policer)


def _of_path(params: Mapping[str, Any]) -> list[Stage]:
    known = {key: f"{params[f'{key}_bps']}bit" for key in _STAGES if params.get(f"{key}_bps")}
    known |= {key: params[key] for key in ("channels", "change", "pace_packets") if params.get(key)}
    framed_bits = 8 * ((params.get("mtu") or 1500) + ON_THE_WIRE.get(str(params.get("framing")), 0))
    try:
        path = PathTable.model_validate(known)
        times = [0, *(change.at_ns for change in path.changes())]
        phases, aqms = path.phases("ab"), [params.get("aqm") or "none"]
        for change in path.changes():
            aqms.append(str(change.ab.get("aqm", aqms[-1])))
    except ValueError:
        return []
    always = params.get("rate_trace") not in (None, "none")
    traced = [always or phase.values["rate_trace"] != "none" for phase in phases]
    bps = [
        0.0 if one else _rate_of(phase, path.nic_rate, framed_bits) for phase, one in zip(phases, traced, strict=True)
    ]
    policers = [policer.read(aqm, int(phase.values["channels"])) for phase, aqm in zip(phases, aqms, strict=True)]
    return [Stage(*stage) for stage in zip(times, bps, traced, policers, strict=True)]


def _rate_of(phase: Direction, nic_bps: int, framed_bits: int) -> float:
    """The rate of the slowest stage. ``framed_bits``: bits of a full packet, for a pacer that counts packets."""
    values = phase.values
    bounds = [
        nic_bps,
        int(values["rate"]) * int(values["channels"]),
        int(values["pace_packets"]) * framed_bits,
        *(int(values[key]) for key in ("access_rate", "drain_rate", "harmonize")),
    ]
    if not values["pace_packets"]:
        bounds.append(int(values["pace"]))
    return float(min((bps for bps in bounds if bps), default=0))
