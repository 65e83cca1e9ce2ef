"""A delay box as a Mininet link: a script that uses ``TCLink`` can use ``CometLink`` instead.

The box's two ports become the interfaces of the nodes, under Mininet's names (``h1-eth0``), in the nodes' namespaces.
As with TCLink, a parameter of the link applies to both directions, and a parameter in ``params1`` to the direction in
which node 1 sends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mininet.link import Intf, Link
from mininet.log import error, warn

from comet_delay import options
from comet_delay.backend import Box, open_box
from comet_delay.command import Port
from comet_delay.tclink import parameters
from netcommon.errors import LfpError, UsageError

# Arguments of Mininet's Link and of its two ends. The others belong to the path.
_MININET = {"port1", "port2", "intfName1", "intfName2", "addr1", "addr2", "intf", "cls1", "cls2"}
_MININET |= {"mac", "ip", "ifconfig", "up", "port", "moveIntfFn"}


_Model = Mapping[str, Any] | None


class CometIntf(Intf):  # type: ignore[misc]
    """One end of a CometLink. `config` changes the running box, in the direction in which this end sends."""

    def config(self, mac: Any = None, ip: Any = None, ifconfig: Any = None, up: bool = True, **model: Any) -> Any:
        """Takes Mininet's own parameters, as `Intf.config` does, and parameters of CometLink. The latter apply from the
        next packet on."""
        result = super().config(mac=mac, ip=ip, ifconfig=ifconfig, up=up)
        if model.keys() - _MININET:
            assert isinstance(self.link, CometLink)
            self.link.change(self, model)
        return result


class CometLink(Link):  # type: ignore[misc]
    """Takes the parameters of TCLink: ``bw`` (Mbit/s), ``delay``, ``jitter``, ``loss`` (percent), ``max_queue_size``
    (packets).

    It also takes

    - every path option of ``comet-delay run`` by its name, with a unit: ``rate='10Gbit'``, ``access_rate='1Gbit'``
    - the same in base units: ``queue_bytes=112640``
    - ``ab=dict(…)`` and ``ba=dict(…)``: parameters of one direction; ab is from node 1 to node 2
    - ``seed``, ``mtu``, and ``backend``: ``auto``, ``comet`` or ``netem`` (backend.choose)
    - ``box=dict(…)``: options of the daemon itself, such as ``memory``, ``spin`` and ``poll``

    Raises UsageError, MissingError or LfpError with one line. The box ends with `stop` or `delete`, or with the thread
    that made it.
    """

    box: Box | None = None
    end: dict[str, Any] | None = None  # the box's last state, once stopped
    intf1: Any
    intf2: Any

    def __init__(
        self, node1: Any, node2: Any, *args: Any, params1: _Model = None, params2: _Model = None,
        ab: _Model = None, ba: _Model = None, seed: int | None = None, mtu: int = 1500, backend: str = "auto",
        box: Mapping[str, str] | None = None, fast: bool = True, **params: Any,
    ) -> None:  # fmt: skip
        self._mtu, self._seed, self._backend, self._box_options = mtu, seed, backend, box
        self._known = options.installed_or_basic()
        model = {name: params.pop(name) for name in list(params) if name not in _MININET}
        both = parameters(model, self._known)
        self._ab = both | self._read(params1) | self._read(ab)
        self._ba = both | self._read(params2) | self._read(ba)
        params |= {"cls1": params.get("cls1") or CometIntf, "cls2": params.get("cls2") or CometIntf}
        ends = [{name: value for name, value in (p or {}).items() if name in _MININET} for p in (params1, params2)]
        try:  # fast: Mininet need not move the ports, because the box makes them in the nodes' namespaces
            super().__init__(node1, node2, *args, params1=ends[0], params2=ends[1], fast=True, **params)
        except BaseException:
            if self.box:
                self.box.stop()
            raise

    def makeIntfPair(
        self,
        name1: str,
        name2: str,
        addr1: str | None = None,
        addr2: str | None = None,
        node1: Any = None,
        node2: Any = None,
        deleteIntfs: bool = True,
    ) -> None:
        """Starts the box between the two nodes. Mininet calls this method where TCLink makes a veth pair."""
        self.box = open_box(
            Port(name1, node1.pid),
            Port(name2, node2.pid),
            ab=self._ab,
            ba=self._ba,
            mtu=self._mtu,
            seed=self._seed,
            backend=self._backend,
            box=self._box_options,
        )
        for node, name, address in ((node1, name1, addr1), (node2, name2, addr2)):
            said = node.cmd(f"ip link set dev {name} address {address}") if address else ""
            if said:
                raise LfpError(f"cannot set the hardware address of {name} to {address}: {said}")

    def change(self, interface: Any, model: Mapping[str, Any]) -> None:
        """Changes parameters of the direction in which this interface of the link sends, while packets flow."""
        if self.box is None:
            raise UsageError(f"{interface}: its link is stopped")
        self.box.set(**{"ab" if interface is self.intf1 else "ba": self._read(model)})

    def show(self) -> dict[str, Any]:
        """Parameters, statistics and verdict of the box; after it has stopped, the last ones."""
        return self.box.show() if self.box else dict(self.end or {})

    def delete(self) -> None:
        """Stops the box, which removes both interfaces. Its last state stays in `end`.

        When the box had failed, or its verdict has reasons against it, this method only prints a message: an exception
        would keep Mininet from stopping the rest of the network.
        """
        box, self.box = self.box, None
        if box:
            try:
                self.end = box.stop()
                reasons = self.end["verdict"]["reasons"]
                if reasons:
                    warn(f"*** {self}: what was measured here is doubtful: {'; '.join(reasons)}\n")
            except LfpError as failure:
                error(f"*** {self}: {failure}\n")
        for interface in (self.intf1, self.intf2):
            if interface:
                interface.node.delIntf(interface)
                interface.link = None
        self.intf1 = self.intf2 = None

    def _read(self, model: _Model) -> dict[str, int | str]:
        named = {name: value for name, value in (model or {}).items() if name not in _MININET}
        return parameters(named, self._known)
