"""Starts ``lft-gateway``: makes the command line from settings, runs the process, and waits until it is ready.

This is the only launcher. Trials, benches and tests use it, so all of them wait for the same condition in the same way.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lft_ref.control import Control, ControlError, State
from netcommon import quantity
from netcommon.binaries import find
from netcommon.errors import LfpError
from netcommon.ledger import Ledger
from netcommon.options import command_words
from netcommon.process import START_TIMEOUT_S, Tool

TUNNEL_PORT = 2004
_POLL_S = 0.02
# The poll interval is this share of the time waited so far, because a poll takes a millisecond in a guest.
_PATIENCE = 0.1


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of one gateway. A setting that is None or empty has the program's default.

    ``control``: its control socket, which every gateway started here has. ``lan``: interfaces of the router model.
    ``given``: options of ``lft-gateway run`` by name, with the unit in the name of a quantity (``{"rate_bps":
    10**8}``). ``options``: further words of the command line; they come last and therefore win.
    """

    psk: Path
    listen: str
    control: Path
    peer: str | None = None
    lan: tuple[str, ...] = ()
    host: bool = False
    forwards: tuple[str, ...] = ()
    drain: str = "0s"
    given: Mapping[str, object] = field(default_factory=dict)
    options: tuple[str, ...] = ()

    def argv(self, program: Sequence[str | Path] = ()) -> list[str]:
        """The command line. ``program`` replaces the installed program and may begin with an environment; empty: the
        installed one."""
        words = [str(word) for word in program] or [str(find("lft-gateway"))]
        options = {
            "parent_death": True,
            "psk_file": self.psk,
            "listen": self.listen,
            "control": self.control,
            "drain": self.drain,
            "peer": self.peer,
            **self.given,
            "router": bool(self.lan),
            "host": self.host,
        }
        words += ["run", *command_words(options)]
        words += [word for name in self.lan for word in ("--lan", name)]
        words += [word for pair in self.forwards for word in ("--forward", pair)]
        return words + list(self.options)


class Gateway(Tool):
    """A running lft-gateway: ``with Gateway(Settings(…)) as gateway: gateway.wait_ready()``."""

    def __init__(
        self,
        settings: Settings,
        *,
        program: Sequence[str | Path] = (),
        netns_pid: int | None = None,
        name: str = "lft-gateway",
        stderr_path: Path | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        super().__init__(settings.argv(program), netns_pid=netns_pid, name=name, stderr_path=stderr_path, ledger=ledger)
        self.settings = settings

    def __enter__(self) -> Gateway:
        super().__enter__()
        return self

    def wait_ready(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Waits until the gateway accepts connections. Its tunnel need not be up."""
        self.wait_event("ready", timeout_s)

    def control(self) -> Control:
        """A connection to its control socket."""
        return Control(self.settings.control)

    def show(self) -> State:
        """The gateway's state. ToolError with the gateway's own message when it has exited."""
        try:
            with self.control() as control:
                return control.show()
        except ControlError:
            if not self.running():
                self.finish(1.0)
            raise

    def accelerating(self, *, whole_frames: bool = False) -> bool:
        """Whether new connections go through the tunnel and, with ``whole_frames``, the path's MTU is known."""
        state = self.show()
        return not (state["bypassed"] or (whole_frames and state["tunnel"]["mtu_search"]))


def wait_accelerating(gateways: Sequence[Gateway], timeout_s: float, *, whole_frames: bool = False) -> float:
    """Waits until all of these gateways send new connections through the tunnel. Returns how many seconds that took."""
    began = time.monotonic()
    while not all(gateway.accelerating(whole_frames=whole_frames) for gateway in gateways):
        if time.monotonic() > began + timeout_s:
            waited = quantity.format_value(quantity.DURATION, int(timeout_s * 1e9))
            raise LfpError(f"the tunnel of the gateways does not come up (waited {waited})")
        time.sleep(max(_POLL_S, (time.monotonic() - began) * _PATIENCE))
    return time.monotonic() - began


def write_key(path: Path) -> Path:
    """Writes a new pre-shared key, readable by its owner only, unless the file exists. Returns the path."""
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_hex(32), encoding="ascii")
    return path
