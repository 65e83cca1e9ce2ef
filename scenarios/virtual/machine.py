"""The environment of a command of ``lfp virtual`` in its guest. The host describes it, and the guest sets it up.

The command may change every file of the host's; the changes are in memory and end with the guest. Rejected: the
read-only root that trials have, because programs in general write where they like.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scenarios.virtual import lean, mounts

if TYPE_CHECKING:
    from scenarios.virtual.lab import Network


@dataclass(frozen=True)
class Machine:
    """``environment``: all of the command's variables. ``writable``: the host's folders in which changes stay.
    ``network``: a scenario's, in whose ``node`` the command runs; None: lo alone."""

    environment: Mapping[str, str]
    writable: tuple[str, ...] = ()
    network: Network | None = None
    node: str = "snd"

    @contextmanager
    def entered(self, argv: list[str], share: str) -> Iterator[list[str]]:
        """Sets the machine up, in the guest. Returns the command line that runs ``argv`` in its node. ``share``: the
        folder that stays where it is."""
        mounts.own_root(self.writable, share)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        if not self.network:
            yield argv
            return
        lean.pyroute2()
        from scenarios.virtual import lab

        scratch = Path("/run/tmp/lab")
        scratch.mkdir()
        with lab.running(self.network, scratch):
            yield ["ip", "netns", "exec", self.node, *argv]
