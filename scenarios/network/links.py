"""Interfaces inside namespaces, through pyroute2: addresses, routes, neighbours, counters, offloads.

Each function acts in the network namespace of the process ``pid``.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netcommon import netns
from netcommon.errors import LfpError, MissingError
from scenarios.network.addresses import PREFIX_LENGTH, Family, Route

if TYPE_CHECKING:
    from pyroute2 import IPRoute

# Holds a window of a gigabyte in 64 KB super-packets, because only the model may drop packets.
TX_QUEUE_PACKETS = 20_000
_FAMILY_NUMBER = {"ipv4": 2, "ipv6": 10}
_NODAD = 0x02
_PERMANENT = 0x80
_RTAX_RTO_MIN = 13


@dataclass(frozen=True)
class Counters:
    """Drops and errors of an interface since it was created."""

    rx_dropped: int
    tx_dropped: int
    errors: int


class Session:
    """A thread in a namespace, with one netlink socket, for as long as the namespace is ours. pyroute2 takes a
    millisecond of CPU time for each socket, and a trial sets up a dozen things. The namespace exists until the session
    is closed."""

    def __init__(self, pid: int) -> None:
        self._calls: queue.SimpleQueue[tuple[Any, tuple[Any, ...], queue.SimpleQueue[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, args=(pid,), name=f"netlink-{pid}", daemon=True)
        self._thread.start()

    def call(self, function: Any, *args: Any) -> Any:
        """``function(ipr, *args)`` in the namespace: its result, or its exception."""
        answer: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._calls.put((function, args, answer))
        result, error = answer.get()
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """Leaves the namespace."""
        self._calls.put(None)
        self._thread.join()

    def _serve(self, pid: int) -> None:
        from pyroute2 import IPRoute  # not on top: it takes 0.15 s, and the host of a virtual trial needs none of it

        ipr: IPRoute | None = None
        while (wanted := self._calls.get()) is not None:
            function, args, answer = wanted
            try:
                if ipr is None:
                    netns.enter(netns.namespace_path(pid))
                    ipr = IPRoute()
                answer.put((function(ipr, *args), None))
            except BaseException as error:  # any exception is raised again on the caller's thread
                answer.put((None, error))
        if ipr is not None:
            ipr.close()


_sessions: dict[int, Session] = {}


def open_session(pid: int) -> None:
    """From here on, the functions of this module use one session for the namespace of this process."""
    _sessions[pid] = Session(pid)


def close_session(pid: int) -> None:
    """The end of `open_session`."""
    if session := _sessions.pop(pid, None):
        session.close()


def _with_netlink(pid: int, function: Any, *args: Any) -> Any:
    try:
        if session := _sessions.get(pid):
            return session.call(function, *args)
        return netns.call_in(pid, _once, function, args)
    except OSError as error:
        raise LfpError(f"network set-up in namespace of process {pid}: {error}") from error


def _once(function: Any, args: tuple[Any, ...]) -> Any:
    from pyroute2 import IPRoute  # not on top, as above

    with IPRoute() as ipr:
        return function(ipr, *args)


def _index(ipr: IPRoute, name: str) -> int:
    found = ipr.link_lookup(ifname=name)
    if not found:
        raise LfpError(f"interface {name} does not exist")
    return int(found[0])


def add_veth(pid: int, name: str, peer_pid: int, peer_name: str) -> None:
    """Makes a pair of interfaces, the other one in the network namespace of the process ``peer_pid``."""

    def act(ipr: IPRoute) -> None:
        ipr.link("add", ifname=name, kind="veth", peer={"ifname": peer_name, "net_ns_pid": peer_pid})

    _with_netlink(pid, act)


def bring_up(pid: int, name: str, mtu: int | None = None, addresses: Sequence[tuple[Family, str]] = ()) -> str:
    """Sets MTU, transmit queue and addresses of an interface and brings it up. Returns its hardware address."""

    def act(ipr: IPRoute) -> str:
        index = _index(ipr, name)
        if mtu is not None:
            ipr.link("set", index=index, mtu=mtu, txqlen=TX_QUEUE_PACKETS)
        for family, address in addresses:
            flags = {"flags": _NODAD} if family == "ipv6" else {}
            ipr.addr(
                "replace",
                index=index,
                address=address,
                prefixlen=PREFIX_LENGTH[family],
                family=_FAMILY_NUMBER[family],
                **flags,
            )
        ipr.link("set", index=index, state="up")
        return str(ipr.get_links(index)[0].get_attr("IFLA_ADDRESS") or "")

    mac: str = _with_netlink(pid, act)
    return mac


def silent(pid: int, family: Family, yes: bool) -> None:
    """Makes a host stop answering, or answer again: a rule before all routes but the local ones drops what it sends."""

    def act(ipr: IPRoute) -> None:
        ipr.rule("add" if yes else "del", priority=1, action="blackhole", family=_FAMILY_NUMBER[family])

    _with_netlink(pid, act)


def limit_super_packets(pid: int, name: str, super_bytes: int) -> None:
    """Makes TCP build only super-packets that are shorter than this for the interface; the kernel accepts at most
    65536. Longer super-packets of UDP become single packets, or in a guest shorter super-packets."""

    def act(ipr: IPRoute) -> None:
        ipr.link("set", index=_index(ipr, name), gso_max_size=super_bytes)

    _with_netlink(pid, act)


def add_neighbours(pid: int, name: str, neighbours: Sequence[tuple[Family, str]], mac: str) -> None:
    """Adds permanent neighbour entries: address resolution would delay the first packet by a round trip."""

    def act(ipr: IPRoute) -> None:
        index = _index(ipr, name)
        for family, address in neighbours:
            number = _FAMILY_NUMBER[family]
            ipr.neigh("replace", ifindex=index, family=number, dst=address, lladdr=mac, state=_PERMANENT)

    _with_netlink(pid, act)


def set_routes(pid: int, routes: Sequence[Route], rto_min_ms: int | None = None, mtu: int | None = None) -> None:
    """Adds or replaces routes. ``rto_min_ms``: least retransmission time-out of connections that use them. ``mtu``: the
    largest packet that a router forwards over them; None: the interface's MTU."""
    # TCP uses the metric only when it is locked (tcp_rto_min); `ip route … rto_min 1s` locks it, too.
    metrics = {} if rto_min_ms is None else {"lock": 1 << _RTAX_RTO_MIN, "rto_min": rto_min_ms}
    metrics |= {} if mtu is None else {"mtu": mtu}
    extra = {"metrics": metrics} if metrics else {}

    def act(ipr: IPRoute) -> None:
        for route in routes:
            ipr.route(
                "replace", family=_FAMILY_NUMBER[route.family], dst=route.destination, gateway=route.gateway, **extra
            )

    _with_netlink(pid, act)


def counters(pid: int) -> dict[str, Counters]:
    """Drop and error counters of every interface of the namespace except the loopback. Rejected: netlink, which takes a
    hundred times as long as the file."""
    lines = Path(f"/proc/{pid}/net/dev").read_text(encoding="ascii").splitlines()[2:]
    counted = {}
    for name, _, figures in (line.partition(":") for line in lines):
        values = [int(value) for value in figures.split()]
        counted[name.strip()] = Counters(values[_RX_DROP], values[_TX_DROP], values[_RX_ERRORS] + values[_TX_ERRORS])
    counted.pop("lo", None)
    return counted


_RX_ERRORS, _RX_DROP, _TX_ERRORS, _TX_DROP = 2, 3, 10, 11  # columns of /proc/net/dev


OFFLOADS = (
    "tx-checksum-ip-generic",
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-udp-segmentation",
    "tx-generic-segmentation",
    "rx-gro",
)


def offloads(pid: int, name: str) -> dict[str, bool]:
    """Whether each of OFFLOADS is on."""

    def inside() -> dict[str, bool]:
        from pyroute2.ethtool.ioctl import IoctlEthtool

        ioctl = IoctlEthtool(name)
        try:
            return {feature: bool(on) for feature, on, *_ in ioctl.get_features() if feature in OFFLOADS}
        finally:
            ioctl.close()

    result: dict[str, bool] = netns.call_in(pid, inside)
    return result


def transmit_queue(pid: int, name: str, rate_bps: int, packets: int) -> None:
    """Gives an interface a rate and a transmit queue of ``packets`` wire packets, with segmentation offloads off. A
    packet that does not fit is refused. TCP takes that for congestion, keeps the packet and sends it later. The queue
    is netem's, because packets in netem no longer count for the socket. Otherwise TCP would keep its own queue below
    this one (small-queue limit). LfpError where the kernel has no netem."""

    def inside() -> None:
        from pyroute2 import IPRoute

        from comet_delay.netem_kernel import FIRST, ROOT, segmentation_off
        from comet_delay.netem_messages import netem_options, put_qdisc

        segmentation_off(name)
        options = netem_options(limit_packets=packets, rate_bps=rate_bps)
        with IPRoute() as ipr:
            index = _index(ipr, name)
            ipr.link("set", index=index, gso_max_segs=1)  # TCP builds super-packets without the offload, too
            put_qdisc(ipr, "netem", index=index, parent=ROOT, handle=FIRST, options=options)

    try:
        netns.call_in(pid, inside)
    except Exception as error:
        if isinstance(error, LfpError):
            raise
        raise MissingError(
            f"path.nic_rate: the kernel refuses a transmit queue at {name}: {error}; it needs sch_netem, "
            "which virtual time has: use --time virtual"
        ) from error
