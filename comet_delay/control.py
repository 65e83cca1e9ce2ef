"""A client of the box's control socket (`CONTROL.md`).

The answer to ``show`` holds parameters, statistics and verdict. ``set`` takes the path options of the box, with ``ab_``
or ``ba_`` for one direction: ``set(loss="1%", ab_rate="45Mbit")``. ``changed`` in its answer holds the parameters whose
value has changed, for each direction.
"""

from __future__ import annotations

from netcommon.control import ControlClient, ControlError, Refused

__all__ = ["Control", "ControlError", "Refused"]


class Control(ControlClient):
    """A connection to a running box."""

    tool = "comet-delay"
