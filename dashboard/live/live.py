"""The tools that one dashboard watches."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dashboard.live import gateway
from dashboard.live.gateway import GatewayState
from dashboard.live.watcher import Watcher


@dataclass(frozen=True)
class Live:
    """A watcher for each tool whose control socket was given."""

    gateway: Watcher[GatewayState] | None = None

    def close(self) -> None:
        """Ends the watches."""
        if self.gateway:
            self.gateway.close()


def watch(gateway_socket: Path | None) -> Live:
    """Begins to watch the tools at these sockets."""
    return Live(gateway.watch(gateway_socket) if gateway_socket else None)
