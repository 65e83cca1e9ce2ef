"""The tools that one dashboard watches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import comet_delay
import lft_ref
from dashboard.live import box, gateway
from dashboard.live.box import BoxWatcher
from dashboard.live.gateway import GatewayWatcher


@dataclass(frozen=True)
class Live:
    """A watcher for each tool whose control socket was given."""

    gateway: GatewayWatcher | None = None
    box: BoxWatcher | None = None

    def close(self) -> None:
        """Ends the watches."""
        for watcher in (self.gateway, self.box):
            if watcher:
                watcher.close()


def watch(
    gateway_socket: Path | None = None,
    box_socket: Path | None = None,
    to_gateway: Callable[[], lft_ref.Control] | None = None,
    to_box: Callable[[], comet_delay.Control] | None = None,
) -> Live:
    """Begins to watch the tools at these sockets. ``to_gateway``, ``to_box``: connect to them; None: directly."""
    return Live(
        gateway.watch(gateway_socket, to_gateway) if gateway_socket else None,
        box.watch(box_socket, to_box) if box_socket else None,
    )
