"""Hosts that exist already: other machines, reached over SSH, or named namespaces of this one (topology.kind
"existing"). The testbed does not change these hosts: it sets no address, route, sysctl or link.

With topology.left and right this machine is the path: the delay box joins these two interfaces of it. Without them the
path is whatever lies between the hosts.
"""

from __future__ import annotations

import os
from pathlib import Path

from comet_delay import Port
from netcommon.errors import MissingError, UsageError
from netcommon.ledger import Ledger
from scenarios.network import links
from scenarios.network.graph import host_names
from scenarios.network.place import Place
from scenarios.plan import flows
from scenarios.plan.model import Host, Scenario
from scenarios.plan.profiles import Profile

_OUR_PROGRAM = "rttcp"


class Existing:
    """The hosts of a setting, as a context manager that makes and removes nothing."""

    def __init__(self, setting: Scenario) -> None:
        self._hosts: dict[str, Host] = {}
        for pair in flows.pairs(setting):
            own = setting.pair[str(pair)]
            assert own.sender and own.receiver
            self._hosts |= dict(zip(host_names(pair), (own.sender, own.receiver), strict=True))
        self._ends = (setting.topology.left, setting.topology.right)
        self.names = list(self._hosts)

    @classmethod
    def of(cls, setting: Scenario, ledger: Ledger | None = None) -> Existing:
        """The hosts that a trial needs. They need no clean-up."""
        return cls(setting)

    def __enter__(self) -> Existing:
        for name in self._hosts:
            self.place(name).check()
        here = {link for link in self._ends if link}
        if missing := sorted(here - _interfaces()):
            raise MissingError(f"topology: interface {missing[0]} does not exist on this machine; 'ip link' lists them")
        return self

    def __exit__(self, *_: object) -> None: ...

    @property
    def hops(self) -> list[int]:
        """The numbers of the delay boxes: one, or none."""
        return [1] if self._ends[0] else []

    def pair_of(self, hop: int) -> int:
        """The box is [path]'s."""
        return 0

    def host_pids(self) -> list[int]:
        """No host's TCP is ours."""
        return []

    def place(self, host: str) -> Place:
        """Where a host's tools run."""
        own = self._hosts[host]
        program = None if own.ssh is None and own.rttcp == _OUR_PROGRAM else own.rttcp
        return Place(own.netns, own.ssh, program)

    def receiver_address(self, pair: int = 1) -> str:
        """The address that a pair's sender sends to."""
        return self._hosts[host_names(pair)[1]].address

    def wan_ports(self, hop: int = 1) -> tuple[Port, Port]:
        """The two interfaces of this machine."""
        left, right = self._ends
        assert left and right
        return Port(left, kind="if"), Port(right, kind="if")

    def attach_wan(self, profile: Profile) -> None:
        """Does nothing, because addresses and routes are the hosts' own."""

    def apply(self, profile: Profile, window_bytes: int | None = None) -> dict[str, str]:
        """Nothing is written."""
        return {}

    def counters(self) -> dict[str, links.Counters]:
        """The drop counters of the two interfaces."""
        if not self.hops:
            return {}
        return {f"box:{name}": found for name, found in links.counters(os.getpid()).items() if name in self._ends}

    def offloads(self) -> dict[str, dict[str, bool]]:
        """The offloads of the two interfaces."""
        return {f"box:{name}": links.offloads(os.getpid(), name) for name in self._ends if name}

    def prompt(self) -> None:
        """There is no Mininet here."""
        raise UsageError('--cli: not with topology.kind = "existing"; log in at the hosts themselves')


def _interfaces() -> set[str]:
    return {path.name for path in Path("/sys/class/net").iterdir()}
