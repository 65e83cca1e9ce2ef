"""The wall time that a trial in virtual time takes, estimated before any has run: the time to start, and a price for
the data that is moved.

The prices were measured on two cores of 2025, at 45 to 2,000 Mbit/s and RTT 20 ms. On another machine the trials that
are done correct them (``estimate.TimeLeft``). The price of a user's own program as a gateway is a guess.
"""

from __future__ import annotations

from scenarios.plan import estimate
from scenarios.plan.plan import Trial
from scenarios.virtual import boxes

_START_S = 2.0
_S_PER_BYTE = 10e-9  # both hosts, netem
_BOX_S_PER_WAKING = 0.25e-3  # the userspace box, for each look at its ports
_GATEWAYS_S_PER_BYTE = {"none": 0.0, "lft": 40e-9, "command": 1000e-9}
_CAPTURE = 1.2  # a trial with captures takes this many times as long


def wall_s(trial: Trial, box: str) -> float:
    """Expected wall time, in seconds, of a trial that has a processor to itself. ``box``: see ``boxes.choose``."""
    setting = boxes.settled(trial, box).setting
    duration_s, moved = estimate.transfer_s(setting), estimate.moved_bytes(setting)
    took_s = moved * (_S_PER_BYTE + _GATEWAYS_S_PER_BYTE[setting.gateway.kind])
    if boxes.choose(trial, box) == "comet":
        packets = 1.5 * moved / setting.path.mtu  # with acknowledgements
        took_s += _BOX_S_PER_WAKING * min(packets, 2 * duration_s * 1e9 / max(setting.path.granularity or 0, 1))
    return _START_S + took_s * (_CAPTURE if setting.capture.points else 1.0)
