"""A case's environment in the guest: a client, a server, the gateways between them, the path, and events that disturb
them.

Client and server are sockets of this process in the hosts' namespaces. In virtual time this process takes no time, so a
case measures only the gateways and the path.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from netcommon.errors import LfpError
from netcommon.ledger import Ledger
from netcommon.netns import call_in
from netcommon.process import Tool
from scenarios.conformance import proxies
from scenarios.conformance.streams import Failure, Late, NotApplicable, name_of, pattern, span, within
from scenarios.network import links
from scenarios.network.topology import Topology
from scenarios.plan.model import Scenario
from scenarios.trial import gateways, rebinding
from scenarios.trial.delay_box import Boxes
from scenarios.trial.gateways import Pair, Which
from scenarios.trial.transfer_tool import ports

CONNECT_S = 30.0  # a connection over a working path must be established within this time
_BACKLOG = 4096
_ALL_LOST = {"loss_ppb": 10**9}
Where = Literal["client", "server"]


@dataclass
class Lab:
    """``pair``: the gateways that run; None where the scenario has none. ``gone``: those that a case has ended."""

    net: Topology
    setting: Scenario
    boxes: Boxes
    pair: Pair | None
    scratch: Path
    ledger: Ledger

    def __post_init__(self) -> None:
        self.data_port = ports(0)[1]
        self.rtt_s = self.setting.path.rtt_ns() / 1e9
        self._listener = self.listen(self.data_port)
        self._streams = 0

    @property
    def rate_bps(self) -> int:
        """The capacity of the path, or the gateways' rate if that is set lower."""
        line = self.setting.path.direction("ab").rate_bps
        gateway = self.setting.gateway
        return min(rate for rate in (line, gateway.rate, gateway.host_rate) if rate)

    def data(self, size: int) -> bytes:
        """The octets of a new stream, which no other stream of the case has."""
        self._streams += 1
        return pattern(self._streams, size)

    def listen(self, port: int) -> socket.socket:
        """A socket that listens at the server."""
        sock = call_in(self.net.receiver, self._socket)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((self.net.receiver_address(), port))
        sock.listen(_BACKLOG)
        return sock

    def _socket(self) -> socket.socket:
        ipv6 = self.setting.transfer.family == "ipv6"
        made = socket.socket(socket.AF_INET6 if ipv6 else socket.AF_INET, socket.SOCK_STREAM)
        made.setblocking(False)
        return made

    async def client(self, port: int | None = None, within_s: float = CONNECT_S) -> socket.socket:
        """The client's end of a new connection. OSError when the connection fails; Late when it takes longer.
        The event loop's thread is in the client's namespace, so a plain socket is the client's."""
        sock, to = self._socket(), (gateways.target(self.net, self.setting), port or self.data_port)
        proxy = gateways.proxy_at(self.net, self.setting)
        try:
            async with within(within_s):
                await asyncio.get_running_loop().sock_connect(sock, proxy[1:] if proxy else to)
                if proxy:
                    await proxies.ask(sock, proxy[0], *to)
        except BaseException:
            sock.close()
            raise
        return sock

    async def server(self, within_s: float = CONNECT_S) -> socket.socket:
        """The server's end of the next connection."""
        try:
            async with within(within_s):
                sock, _ = await asyncio.get_running_loop().sock_accept(self._listener)
        except Late:
            raise Failure(f"the connection did not reach the server within {span(within_s)}") from None
        sock.setblocking(False)
        return sock

    async def connected(self) -> tuple[socket.socket, socket.socket]:
        """Both ends of a new connection."""
        try:
            client = await self.client()
        except Late:
            raise Failure(f"no connection within {span(CONNECT_S)}") from None
        except OSError as error:
            raise Failure(f"no connection: {name_of(error)}") from None
        return client, await self.server()

    def refuse(self) -> None:
        """From here on nobody listens at the server."""
        self._listener.close()

    def silent(self, yes: bool) -> None:
        """Makes the server stop answering, or answer again."""
        links.silent(self.net.receiver, self.setting.transfer.family, yes)

    async def outage(self, seconds: float) -> None:
        """Makes the path drop everything for this long."""
        clear = {"loss_ppb": 0}
        self._set(_ALL_LOST)
        await asyncio.sleep(seconds)
        self._set(clear)

    def _set(self, parameters: dict[str, int]) -> None:
        for box in self.boxes.boxes.values():
            box.set(ab=parameters, ba=parameters)

    def mtu(self, octets: int) -> None:
        """Sets the MTU of the line between the routers, which tell senders of larger packets (ICMP)."""
        self.net.set_line_mtu(octets)

    def gateway(self, which: Which) -> Tool:
        """A gateway that runs. NotApplicable where there is none."""
        if not self.pair:
            raise NotApplicable("the scenario has no gateways")
        return self.pair.tools[which]

    def end(self, which: Which, *, kill: bool) -> None:
        """Ends a gateway: kills all its processes at once, or asks it to exit."""
        self.gateway(which)
        assert self.pair
        self.pair.end(which, kill=kill)

    def start(self, which: Which) -> None:
        """Starts a gateway that was ended, and waits until it says that it is ready. Failure when it ends instead."""
        assert self.pair
        try:
            self.pair.again(which)
        except LfpError as error:
            raise Failure(f"the {which} gateway did not come back: {error}") from None

    def processes(self, which: Which) -> list[int]:
        """The processes of a gateway."""
        group = self.gateway(which).pid
        ids = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                if int(stat.read_text().rpartition(")")[2].split()[2]) == group:
                    ids.append(int(stat.parent.name))
        return ids

    def limit_descriptors(self, which: Which, more: int) -> None:
        """From here on a gateway may open this many files in addition to those it has open."""
        for pid in self.processes(which):
            open_now = max((int(one.name) for one in Path(f"/proc/{pid}/fd").iterdir()), default=0) + 1
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_now + more, open_now + more))

    def limit_memory(self, which: Which, more: int) -> None:
        """From here on a gateway may map this many bytes in addition to those it has mapped."""
        for pid in self.processes(which):
            pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[0])
            limit = pages * os.sysconf("SC_PAGE_SIZE") + more
            resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))

    def translate(self) -> None:
        """From here on the near gateway's packets have another address on the path. NotApplicable where this machine
        has no translator."""
        if not self.pair:
            raise NotApplicable("the scenario has no gateways")
        try:
            rebinding.rebind(self.net, self.pair.site)
        except LfpError as why:
            raise NotApplicable(str(why)) from None

    def clock(self, seconds: float) -> None:
        """The time of day jumps, on all machines at once."""
        time.clock_settime(time.CLOCK_REALTIME, time.clock_gettime(time.CLOCK_REALTIME) + seconds)

    def close(self) -> None:
        """Closes the listeners of the case."""
        self._listener.close()


@contextlib.contextmanager
def descriptors(most: int) -> Iterator[None]:
    """Raises this process's limit of open files, because a thousand connections have two ends here. Child processes do
    not inherit it."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, max(most, before[1])))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
