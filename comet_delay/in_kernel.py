"""The delay box in the kernel of virtual time, as a back end: the daemon with ``--home kernel``.

    host a ─veth─ a ▸ b ─veth─ host b        ▸ redirected (mirred) from ingress to egress

Both inner interfaces are in a namespace that has no name and ends with this process. A redirected packet passes that
interface's queueing discipline, which is one direction of the box (scenarios/virtual/comet). The daemon parses the
parameters, installs the disciplines and answers on its socket; it never sees a packet.
Rejected: the discipline on a host's own interface. Captures there would see packets after the path, and the queue would
limit TCP (small-queue limit).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pyroute2 import IPRoute, NetlinkError

from comet_delay.command import Parameters, Port
from comet_delay.namespace import Namespace
from comet_delay.netem_kernel import attach, bring_up, delete, no_ipv6, redirect
from comet_delay.userspace import STOP_TIMEOUT_S, UserspaceBox
from netcommon.ledger import Ledger
from netcommon.process import Event

FILE = Path("/proc/comet")  # this file exists if the kernel contains the box
_INNER = ("a", "b")


class KernelBox(UserspaceBox):
    """As UserspaceBox, between two ports that it makes as their hosts' NICs."""

    backend = "kernel"

    def __init__(
        self, a: Port, b: Port, *, ab: Parameters | None = None, ba: Parameters | None = None, mtu: int = 1500,
        seed: int = 1, record: Path | None = None, box: Mapping[str, int | str | None] | None = None,
        control: Path | None = None, log: Path | None = None, ledger: Ledger | None = None,
    ) -> None:  # fmt: skip
        self._hosts, self._mtu = (a, b), mtu
        self._middle = Namespace()
        inner = (Port(name, self._middle.path, "if") for name in _INNER)
        super().__init__(
            *inner, ab=ab, ba=ba, mtu=mtu, seed=seed, record=record, box=box, control=control, log=log, ledger=ledger,
            home="kernel",
        )  # fmt: skip

    def start(self) -> KernelBox:
        """Makes interfaces and disciplines; both ports exist and are up afterwards."""
        try:
            self._middle.run(no_ipv6)
            for port, own in zip(self._hosts, _INNER, strict=True):
                attach(self._middle, own, port, self._mtu)
                self._middle.netlink(bring_up, own)
            super().start()
            self._middle.netlink(_join)
        except BaseException:
            self._close()
            raise
        return self

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> Event:
        """Ends the daemon and removes the hosts' NICs. Returns the daemon's last state, as UserspaceBox does."""
        try:
            return super().stop(timeout_s)
        finally:
            with suppress(NetlinkError):  # gone already, with a host's namespace
                self._middle.netlink(_remove)
            self._middle.close()


def _join(ipr: IPRoute) -> None:
    a, b = (bring_up(ipr, name) for name in _INNER)
    redirect(ipr, a, b)
    redirect(ipr, b, a)


def _remove(ipr: IPRoute) -> None:
    delete(ipr, [int(index) for name in _INNER for index in ipr.link_lookup(ifname=name)])
