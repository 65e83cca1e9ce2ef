"""The policer that a text of queue management names: what it lets pass is its own rate, whatever the line carries."""

from __future__ import annotations

from dataclasses import dataclass

from netcommon import quantity

NAME = "policer"
_BURST = "100KB"  # of a text that does not say it: comet-delay(1)


@dataclass(frozen=True)
class Policer:
    """A token bucket of all channels together. ``marks``: it marks what is over its rate where packets are
    ECN-capable, and drops only the others."""

    rate_bps: float
    burst_bytes: int
    marks: bool


def read(aqm: str, channels: int = 1) -> Policer | None:
    """The policer of the text of a parameter ``aqm`` that the box takes, with a bucket for each channel; None where it
    names none. No tool is asked."""
    name, _, own = aqm.partition(":")
    if name != NAME:
        return None
    values = dict(part.split("=", 1) for part in own.split(","))
    rate_bps, burst = quantity.parse_rate_bps(values["rate"]), quantity.parse_bytes(values.get("burst", _BURST))
    return Policer(float(rate_bps * channels), burst * channels, values.get("ecn") == "on")
