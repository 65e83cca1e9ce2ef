"""The tools that one dashboard watches."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dashboard.live import box, gateway
from dashboard.live.box import BoxState
from dashboard.live.gateway import GatewayState
from dashboard.live.watcher import Watcher


@dataclass(frozen=True)
class Live:
    """A watcher for each tool whose control socket was given."""

    gateway: Watcher[GatewayState] | None = None
    box: Watcher[BoxState] | None = None

    def close(self) -> None:
        """Ends the watches."""
        for watcher in (self.gateway, self.box):
            if watcher:
                watcher.close()


def watch(gateway_socket: Path | None = None, box_socket: Path | None = None) -> Live:
    """Begins to watch the tools at these sockets."""
    return Live(
        gateway.watch(gateway_socket) if gateway_socket else None, box.watch(box_socket) if box_socket else None
    )  # fmt: skip
