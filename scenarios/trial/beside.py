"""Traffic that a trial sends during its transfer: plain TCP that bypasses the gateways, and short transfers through
them.

Plain TCP goes from the near router to the far one. So it shares the line and the round trip with the gateways whatever
their model is, and no gateway sees it. Short transfers follow one another until the transfer has ended. One that is
still under way then does not count, because a part of it had the line for itself.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from netcommon.process import START_TIMEOUT_S, Tool, ToolError
from scenarios.network import sysctls
from scenarios.network.place import Network, Place
from scenarios.plan import profiles
from scenarios.trial.gateways import made
from scenarios.trial.transfer_tool import TransferCommands

NEAR, FAR = "r1", "r2"  # the routers at both ends of the delay box
_ROUTER_PROFILE = "modern"
_PAUSE_S, _MOST_FAILED = 0.1, 5
_TOLD = ("options", "ecn_mode", "advmss", "pmtu", "max_pacing_rate_bytes_per_s")  # may differ between two transfers
# Returns a running tool with this name, on this host, with this command line.
Started = Callable[[str, Place, list[str]], AbstractContextManager[Tool]]


@dataclass
class Beside:
    """The additional flows of a transfer, whose receivers are ready. ``took_ns``: times of the short transfers so far;
    ``failed``: how many failed, ``in_a_row``: how many of the last ones; ``ran``: congestion control and TCP_INFO at
    both ends of the short transfers, one entry for each different combination."""

    net: Network
    commands: TransferCommands
    started: Started
    stack: contextlib.ExitStack
    plain: Tool | None = None
    took_ns: list[int] = field(default_factory=list)
    failed: int = 0
    in_a_row: int = 0
    ran: dict[str, dict[str, Any]] = field(default_factory=dict)

    def run_until_end_of(self, sender: Tool, timeout_s: float) -> None:
        """Runs these flows until the transfer of ``sender`` has ended. ToolError when too many short transfers in a row
        fail before."""
        if plain := self.commands.plain:
            self.plain = self.stack.enter_context(self.started("sender-plain", _router(self.net, NEAR), plain.sender))
        deadline = time.monotonic() + timeout_s
        while self.commands.short and sender.running() and time.monotonic() < deadline:
            took_ns = self._short(self.commands.short, sender, timeout_s)
            if sender.running():
                self.took_ns += [took_ns] if took_ns else []
                time.sleep(_PAUSE_S)

    def _short(self, commands: TransferCommands, sender: Tool, timeout_s: float) -> int | None:
        """The time of one short transfer. None when it failed: a gateway may still hold the end of the previous one,
        whose port the receiver needs."""
        with self.started("sender-short", self.net.place("snd"), commands.sender) as short:
            try:
                end = short.finish(timeout_s)
            except ToolError:
                self.failed, self.in_a_row = self.failed + 1, self.in_a_row + 1
                if sender.running() and self.in_a_row > _MOST_FAILED:
                    raise
                return None
        self.in_a_row = 0
        ran = {role: {key: end[role][key] for key in ("congestion", "tcp_info")} for role in ("sender", "receiver")}
        setup = [[side["congestion"], *(side["tcp_info"].get(key) for key in _TOLD)] for side in ran.values()]
        self.ran.setdefault(str(setup), ran)
        return int(end["summary"]["elapsed_ns"])

    def ended(self, timeout_s: float) -> dict[str, Any]:
        """What transfer.json says of these flows."""
        results: dict[str, Any] = {}
        if self.commands.short:
            results["short"] = {"elapsed_ns": self.took_ns, "failed": self.failed, "ran": list(self.ran.values())}
        if self.plain:
            results["plain"] = self.plain.finish(timeout_s)
        return results


@contextlib.contextmanager
def ready(net: Network, commands: TransferCommands, started: Started) -> Iterator[Beside]:
    """Starts the receivers of these flows and waits until they are ready."""
    receivers: list[Tool] = []
    with contextlib.ExitStack() as stack:
        if commands.plain:
            for router in (NEAR, FAR):
                sysctls.apply(profiles.load(_ROUTER_PROFILE), made(net).pid(router))
            receivers.append(stack.enter_context(started("receiver-plain", _router(net, FAR), commands.plain.receiver)))
        if commands.short:
            short = started("receiver-short", net.place("rcv"), commands.short.receiver)
            receivers.append(stack.enter_context(short))
        for receiver in receivers:
            receiver.wait_event("ready", START_TIMEOUT_S)
        yield Beside(net, commands, started, stack)


def _router(net: Network, name: str) -> Place:
    return Place(made(net).pid(name))
