"""The policer that a text of queue management names. It limits traffic to its own rate, whatever the line's rate is."""

from __future__ import annotations

from dataclasses import dataclass

from netcommon import quantity

NAME = "policer"
_BURST = "100KB"  # comet-delay(1)'s default


@dataclass(frozen=True)
class Policer:
    """A token bucket of all channels together. ``marks``: whether it marks packets beyond its rate if they are
    ECN-capable, and drops only the others."""

    rate_bps: float
    burst_bytes: int
    marks: bool


def read(aqm: str, channels: int = 1) -> Policer | None:
    """The policer in a valid text of the parameter ``aqm``, with a bucket for each channel; None if the text names
    another discipline. No tool is asked."""
    name, _, own = aqm.partition(":")
    if name != NAME:
        return None
    values = dict(part.split("=", 1) for part in own.split(","))
    rate_bps, burst = quantity.parse_rate_bps(values["rate"]), quantity.parse_bytes(values.get("burst", _BURST))
    return Policer(float(rate_bps * channels), burst * channels, values.get("ecn") == "on")
