"""Transfer tools as plug-ins: what a scenario's settings mean to ``rttcp``, or to ``iperf3`` instead.

Both print rttcp's events. iperf3 does so through ``rttcp.iperf3_tool``, with the keys whose values it knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import rttcp
from netcommon import binaries
from netcommon.errors import UsageError
from rttcp import iperf3_tool
from scenarios.plan.keys import arguments
from scenarios.plan.model import Scenario
from scenarios.plan.profiles import Profile
from scenarios.plan.transfer import Transfer

PORT = 5010
DATA_PORT = 5020  # used with a proxy gateway, which has to know the port; without one the port is any free one
STREAMS_FROM = 7100  # data ports of flows with several streams: four digits, as products may put another in front
_MOST_STREAMS = 128
_APART = 10  # DATA_PORT - PORT: this many flows have consecutive ports
SHORT = 1000  # the flow number that gives short transfers their ports; flows have lower numbers
_PLAIN_CONGESTION = "cubic"


def ports(number: int) -> tuple[int, int]:
    """The control port and the data port of a flow; those of flow 0 are PORT and DATA_PORT."""
    block, place = divmod(number, _APART)
    return PORT + 2 * _APART * block + place, DATA_PORT + 2 * _APART * block + place


def data_ports(transfer: Transfer, number: int) -> tuple[int, ...]:
    """The data ports of a flow behind a proxy that has to know them: one for each stream, consecutive."""
    streams = transfer.streams
    first = ports(number)[1] if streams == 1 else STREAMS_FROM + _MOST_STREAMS * number
    return tuple(range(first, first + streams))


def _second(transfer: Transfer) -> tuple[int, tuple[int, ...]]:
    """Control port and data ports of `transfer.second`: flow 1's, because a transfer with `second` has no flow 1."""
    return ports(1)[0], data_ports(transfer, 1)


def beside_ports(transfer: Transfer) -> tuple[int, ...]:
    """The ports of the additional flows (`second`, `short`) that [transfer] sends through a gateway."""
    port, more = _second(transfer)
    return ((port, *more) if transfer.second else ()) + (ports(SHORT) if transfer.short else ())


_FAMILIES = {"ipv4": 4, "ipv6": 6}


@dataclass(frozen=True)
class TransferCommands:
    """Command lines of both ends. ``samples``: the file that the sender writes TCP_INFO samples to; None: no samples.
    ``latencies``: the same for the latency of each exchange. The receiver's file is on this machine, so it need not be
    fetched."""

    receiver: list[str]
    sender: list[str]
    samples: Path | None
    latencies: Path | None = None
    second: TransferCommands | None = None  # a flow in addition to the first, on a port of its own
    plain: TransferCommands | None = None  # plain TCP between the routers
    short: TransferCommands | None = None  # its receiver serves one transfer after the other


def commands(
    setting: Scenario,
    profile: Profile,
    host: str,
    samples: Path,
    number: int = 0,
    router: str | None = None,
    samples_back: Path | None = None,
    proxy: str | None = None,
    latencies: Path | None = None,
) -> TransferCommands:
    """Both ends of flow ``number``, which is alone in ``setting``; values are exact and in base units. ``router``: the
    far router's address, which the plain TCP flow goes to. ``samples_back``: where the receiver writes samples of what
    it sends; None: it takes none. ``proxy``: URL of the proxy that is asked for ``host``. ``latencies``: where the
    sender writes the latency of each exchange, if there are any; None: it does not. UsageError for a setting that the
    tool cannot do."""
    transfer, port = setting.transfer, ports(number)[0]
    if transfer.tool == "iperf3":
        return _iperf3(setting, profile, host, port, samples if transfer.sample else None)
    sampled: dict[str, Any] = {"samples": samples, "sample_ns": transfer.sample} if transfer.sample else {}
    back = sampled | {"samples": samples_back} if sampled and samples_back and transfer.both_ways else {}
    latencies = latencies if transfer.request is not None else None
    congestion = transfer.congestion or profile.congestion
    at_sender = sampled | ({"latencies": latencies} if latencies else {})
    first = _flow(setting, profile, (host, proxy), (port, data_ports(transfer, number)[0]), congestion, at_sender, back)
    at = _second(transfer)[0], _second(transfer)[1][0]
    return replace(
        first,
        samples=samples if sampled else None,
        latencies=latencies,
        second=_flow(setting, profile, (host, proxy), at, transfer.second) if transfer.second else None,
        plain=_plain(setting, router) if transfer.plain and router else None,
        short=_short(setting, (host, proxy), congestion) if transfer.short else None,
    )


def _plain(setting: Scenario, router: str) -> TransferCommands:
    """Both ends of a bulk flow of today's TCP between the routers, for as long as the transfer takes."""
    transfer, binary, family = setting.transfer, binaries.find("rttcp"), _FAMILIES[setting.transfer.family]
    receiver = rttcp.receiver_argv(binary, port=PORT, family=family, once=True)
    sender = rttcp.sender_argv(
        router,
        binary,
        port=PORT,
        family=family,
        congestion=_PLAIN_CONGESTION,
        duration_ns=transfer.duration,
        length_bytes=transfer.write_bytes,
        zerocopy=bool(transfer.zerocopy),
        skip_rx_copy=bool(transfer.zerocopy),
    )
    return TransferCommands(receiver, sender, None)


def _short(setting: Scenario, to: tuple[str, str | None], congestion: str) -> TransferCommands:
    """Both ends of short transfers, each over connections of its own."""
    transfer, binary, family = setting.transfer, binaries.find("rttcp"), _FAMILIES[setting.transfer.family]
    port, data_port = ports(SHORT)
    receiver = rttcp.receiver_argv(binary, port=port, family=family, data_port=_data_port(setting, data_port))
    sender = rttcp.sender_argv(
        to[0], binary, proxy=to[1], port=port, family=family, congestion=congestion, bytes=transfer.short, nodelay=True
    )
    return TransferCommands(receiver, sender, None)


def _data_port(setting: Scenario, port: int) -> int | None:
    """The data port of a flow's first stream. A proxy gateway has to know it; without one any free port does (None)."""
    return port if setting.gateway.is_proxy else None


def _flow(
    setting: Scenario,
    profile: Profile,
    to: tuple[str, str | None],
    at: tuple[int, int],
    congestion: str,
    sampled: Mapping[str, Any] = MappingProxyType({}),
    back: Mapping[str, Any] = MappingProxyType({}),
) -> TransferCommands:
    """Both ends of one flow. ``to``: the host, and the proxy that is asked for it; ``at``: its first ports;
    ``sampled``, ``back``: what the sender and the receiver write in addition to their results."""
    port, own_data_port = at
    transfer, binary, family = setting.transfer, binaries.find("rttcp"), _FAMILIES[setting.transfer.family]
    exchanging, copies = transfer.request is not None, not transfer.zerocopy
    data_port = _data_port(setting, own_data_port)
    receiver = rttcp.receiver_argv(binary, port=port, family=family, once=True, data_port=data_port, **back)
    sender = rttcp.sender_argv(
        to[0],
        binary,
        proxy=to[1],
        port=port,
        family=family,
        congestion=congestion,
        length_bytes=None if exchanging else transfer.write_bytes,
        window_bytes=None if exchanging else transfer.window or profile.window_bytes or None,
        zerocopy=not copies,
        skip_rx_copy=not copies,
        **arguments(transfer),
        **sampled,
    )
    return TransferCommands(receiver, sender, None)


def _iperf3(setting: Scenario, profile: Profile, host: str, port: int, samples: Path | None) -> TransferCommands:
    """Command lines for iperf3: one flow, which `rttcp watch` samples (``samples``: into this file; None: it does not).
    ``window`` becomes the size of both ends' socket buffers, and the kernel offers as much of them as it likes."""
    transfer = setting.transfer
    congestion = transfer.congestion or profile.congestion
    if transfer.second:
        raise UsageError('transfer.second: iperf3 has one congestion control a run; use tool = "rttcp"')
    if ":" in congestion:
        raise UsageError(f"transfer.congestion = '{congestion}': iperf3 takes a name alone; use tool = \"rttcp\"")
    if transfer.pace:
        raise UsageError("transfer.pace: of rttcp; iperf3 as it is run here has no pacing")
    if transfer.zerocopy:
        raise UsageError("transfer.zerocopy: of rttcp; iperf3 as it is run here copies")
    if transfer.interval != 10**9:
        raise UsageError("transfer.interval: of rttcp; iperf3 as it is run here reports each second")
    if transfer.duration is not None and transfer.duration % 10**9:
        raise UsageError(f"transfer.duration = {transfer.duration} ns: iperf3 takes whole seconds")
    family = _FAMILIES[transfer.family]
    sender = iperf3_tool.sender_argv(
        host,
        port=port,
        family=family,
        congestion=congestion,
        length_bytes=transfer.length,
        bytes=transfer.bytes,
        duration_s=None if transfer.duration is None else transfer.duration // 10**9,
        window_bytes=transfer.window or profile.window_bytes or None,
        nodelay=bool(transfer.nodelay),
        samples=samples,
        sample_ns=transfer.sample,
        watcher=binaries.find("rttcp"),
    )
    return TransferCommands(iperf3_tool.receiver_argv(port=port, family=family), sender, samples)
