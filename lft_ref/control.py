"""A client of a gateway's control socket (`CONTROL.md`).

The answer to every request is the gateway's state: parameters, and counters by section. ``set`` takes
``set(rate="800Mbit", redundancy="off")``.
"""

from __future__ import annotations

from typing import Literal

from netcommon.control import Answer, ControlClient, ControlError

__all__ = ["Control", "ControlError", "State"]

State = Answer


class Control(ControlClient):
    """A connection to a running gateway."""

    tool = "lft-gateway"

    def bypass(self, when: Literal["auto", "on", "off"]) -> State:
        """When new connections bypass the tunnel: while it is down, always, or never."""
        return self.set(bypass=when)

    def drain(self, within: str) -> State:
        """Stops taking new connections, and ends the gateway once none is left, after ``within`` at the latest."""
        return self.request({"op": "stop", "within": within})

    def stop(self) -> State:
        """Ends the gateway at once. Its connections are reset."""
        return self.request({"op": "stop"})
