"""Where a tool of a host runs: in a network namespace of this machine, or on another machine over SSH. Also `Network`,
what a trial asks of a network, whether lfp made its hosts or they existed before.

This module is the whole launcher over SSH. The command line on the other machine ends when our ssh does: it watches its
standard input, which closes with the connection, so nothing outlives a run there either. No password is asked for
(BatchMode), and the keys of hosts are checked as the user's ssh does.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from comet_delay import Port
from netcommon import readable
from netcommon.errors import LfpError, MissingError
from scenarios.network.links import Counters
from scenarios.plan.profiles import Profile

SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-T")
_TIMEOUT_S = 30.0
# "$@" runs next to a reader of standard input, which ends when the connection does.
_WATCHED = 'exec 3<&0; "$@" </dev/null & p=$!; { cat <&3; kill $p; } >/dev/null 2>&1 & w=$!; '
_WATCHED += "wait $p; s=$?; kill $w 2>/dev/null; exit $s"


@dataclass(frozen=True)
class Place:
    """A host. ``netns``: process id or name of its namespace on this machine; ``ssh``: destination of another machine.
    ``program``: rttcp there; None: this machine's own."""

    netns: int | str | None = None
    ssh: str | None = None
    program: str | None = None

    @property
    def is_remote(self) -> bool:
        return self.ssh is not None

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs ``argv`` there, without entering a namespace (`netcommon.process.Tool` does)."""
        own = [self.program, *argv[1:]] if self.program else list(argv)
        if self.ssh is None:
            return own
        return [*SSH, self.ssh, shlex.join(["sh", "-c", _WATCHED, "sh", *own])]

    def file(self, path: Path) -> Path:
        """The name of a file that a tool writes there, to be fetched as ``path``. On another machine the file is in a
        new private folder of its own."""
        if self.ssh is None:
            return path
        folder = self.run('mktemp -d "${TMPDIR:-/tmp}/lfp.XXXXXXXXXX"').decode().strip()
        return Path(folder, path.name)

    def fetch(self, there: Path, path: Path) -> None:
        """Brings a file of another machine here and removes it and its folder there."""
        if self.ssh is None:
            return
        quoted, folder = shlex.quote(str(there)), shlex.quote(str(there.parent))
        done = self.run(f"cat {quoted} && rm -f {quoted} && rmdir {folder}")
        path.write_bytes(done)

    def run(self, line: str) -> bytes:
        """The output of a shell's command line on the other machine. LfpError when it fails."""
        assert self.ssh
        try:
            done = subprocess.run(
                [*SSH, self.ssh, line], stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise LfpError(f"ssh {self.ssh}: no answer in {readable.duration(_TIMEOUT_S * 1e9)}") from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit status {done.returncode}"]
            raise LfpError(f"ssh {self.ssh}: {said[-1]}")
        return done.stdout

    def check(self) -> None:
        """MissingError when the other machine cannot be reached, or lacks the program."""
        if self.ssh is None:
            return
        program = shlex.quote(self.program or "rttcp")
        try:
            self.run(f"command -v {program}")
        except LfpError as error:
            hint = f"want 'ssh {self.ssh}' to work without a password, and {program} there ([pair.N] … rttcp = PATH)"
            raise MissingError(f"{error}; {hint}") from None


class Network(Protocol):
    """What a trial asks of a network."""

    @property
    def hops(self) -> Sequence[int]:
        """The numbers of the network's delay boxes."""

    def pair_of(self, hop: int) -> int:
        """The pair whose own path a delay box is; 0: it is one of [path]'s."""

    def host_pids(self) -> list[int]:
        """Process ids of the namespaces on this machine whose TCP the hosts use."""

    def place(self, host: str) -> Place:
        """Where a host's tools run."""

    def receiver_address(self, pair: int = 1) -> str:
        """The address that a pair's sender sends to."""

    def wan_ports(self, hop: int = 1) -> tuple[Port, Port]:
        """Ports a (on the senders' side) and b of a delay box."""

    def attach_wan(self, profile: Profile) -> None:
        """Joins the network to the boxes once these have their ports."""

    def apply(self, profile: Profile, window_bytes: int | None = None) -> dict[str, str]:
        """Writes the TCP profile into the hosts; returns the sysctls as read back."""

    def counters(self) -> dict[str, Counters]:
        """The drop counters of every interface, by ``node:interface``."""

    def offloads(self) -> dict[str, dict[str, bool]]:
        """The offloads of the hosts' interfaces, by ``node:interface``."""
