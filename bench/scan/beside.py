"""How long connections of working clients take to set up through gateways: alone, and during a port scan.

    100 clients ─┐
                 ├─ near ══ comet-delay, RTT 10 ms ══ far ── server ── a net of silent addresses
      a scanner ─┘

A client connects, sends one octet, gets it back, closes, and begins again. The scanner works like a connect scan of
nmap: it has a fixed number of attempts under way, and begins the next one when one is answered or has timed out.
Clients and scanner are coroutines of one process, so this must run in virtual time, where computing takes no time.
Rejected: SYNs at a fixed rate from a raw socket, which no answer of the gateways slows down or ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import socket
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bench.gateway_lab import CLIENT, ROUTER, SERVER, WAN, Lab, bound, in_netns, lft_lab
from netcommon.netns import call_in

PORT, BACKLOG = 8000, 4096
CLOSED_FROM = 20_000  # the first closed port
SILENT_NET, SILENT = "10.96.0.0/16", "10.96.{}.{}"
PATIENCE_S = 1.0  # how long the scanner waits for an answer
PERIOD_S, ALONE_S = 0.2, 2.0  # time between a client's connections; time that clients work alone


@dataclass
class Scanned:
    """What the scanner saw, by the kind of target."""

    refused: int = 0
    silent: int = 0
    wrong: int = 0


@dataclass
class Clients:
    """The addresses of the clients, and the set-up times of their connections so far (s)."""

    addresses: list[str]
    took_s: list[float] = field(default_factory=list)

    def taken(self) -> dict[str, float]:
        """Median, 95th percentile and largest (ms) and number of the set-up times since the last call."""
        times_ms, self.took_s = [1e3 * s for s in self.took_s], []
        return {
            "median_ms": statistics.median(times_ms),
            "p95_ms": statistics.quantiles(times_ms, n=20)[-1],
            "largest_ms": max(times_ms),
            "connections": len(times_ms),
        }


@dataclass(frozen=True)
class Scan:
    """The scan: how many targets of either kind, and how many attempts under way at once."""

    closed: int
    silent: int
    at_once: int

    def targets(self) -> Iterator[tuple[str, int]]:
        """Addresses and ports, mixed."""
        mixed = [(SERVER[4], CLOSED_FROM + i) for i in range(self.closed)]
        mixed += [(SILENT.format(i >> 8, i & 255), PORT) for i in range(self.silent)]
        random.Random(1).shuffle(mixed)
        return iter(mixed)


def measure(closed: int, silent: int, at_once: int, clients: int, half_open: int) -> dict[str, Any]:
    """``alone`` and ``beside``: the clients' set-up times without and during the scan (`Clients.taken`). ``scan``: what
    the scanner saw (`Scanned`) and ``seconds``. ``near``: how many connections the near gateway opened through the
    tunnel, and how many half-open ones it gave up for others; ``half_open`` is the gateways' limit of those."""
    with lft_lab(kind=Lab, options={"delay": "5ms", "spin": "0"}) as lab:
        sources = Clients([f"10.81.0.{10 + i}" for i in range(clients)])
        _prepare(lab, sources)
        with lab.gateways(*ROUTER, "--half-open", str(half_open)), _listening(lab) as listener:
            work = _work(sources, listener, Scan(closed, silent, at_once))
            found: dict[str, Any] = call_in(lab.client, asyncio.run, work)
            relay = lab.show()["relay"]
    return found | {"near": {"accepted": relay["near_accepted"], "evicted": relay["half_open_evicted"]}}


def _prepare(lab: Lab, clients: Clients) -> None:
    """The clients' addresses, and the route to the silent net, whose packets the server drops."""
    batch = lab.folder / "addresses"
    batch.write_text("".join(f"addr add {address}/24 dev eth0\n" for address in clients.addresses), encoding="ascii")
    in_netns(lab.client, "ip", "-batch", str(batch))
    in_netns(lab.near, "ip", "route", "add", SILENT_NET, "via", WAN["far"][4])
    in_netns(lab.far, "ip", "route", "add", SILENT_NET, "via", SERVER[4])
    in_netns(lab.server, "sysctl", "-qw", "net.ipv4.ip_forward=1")
    in_netns(lab.server, "ip", "route", "add", "blackhole", SILENT_NET)


@contextlib.contextmanager
def _listening(lab: Lab) -> Iterator[socket.socket]:
    def make() -> socket.socket:
        return socket.create_server((SERVER[4], PORT), backlog=BACKLOG)

    with call_in(lab.server, make) as listener:
        yield listener


async def _work(clients: Clients, listener: socket.socket, scan: Scan) -> dict[str, Any]:
    """Runs the clients alone, and then during the scan."""
    async with await asyncio.start_server(_echo, sock=listener):
        await _beside(clients, asyncio.sleep(ALONE_S))
        alone, began = clients.taken(), time.monotonic()
        scanned = Scanned()
        await _beside(clients, _attempt_all(scan, scanned))
        took_s = time.monotonic() - began
    return {"alone": alone, "beside": clients.taken(), "scan": vars(scanned) | {"seconds": took_s}}


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while part := await reader.read(100):
            writer.write(part)
    writer.close()


async def _beside(clients: Clients, other: Any) -> None:
    """Until ``other`` is done the clients connect again and again."""
    done = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for number, address in enumerate(clients.addresses):
            group.create_task(_client(clients, address, PERIOD_S * number / len(clients.addresses), done))
        await other
        done.set()


async def _client(clients: Clients, address: str, after_s: float, done: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    await asyncio.sleep(after_s)
    while not done.is_set():
        began = time.monotonic()
        with bound(address) as sock:
            await loop.sock_connect(sock, (SERVER[4], PORT))
            clients.took_s.append(time.monotonic() - began)
            await loop.sock_sendall(sock, b"?")
            assert await loop.sock_recv(sock, 1) == b"?"
        await asyncio.sleep(began + PERIOD_S - time.monotonic())


async def _attempt_all(scan: Scan, seen: Scanned) -> None:
    left = scan.targets()
    async with asyncio.TaskGroup() as group:
        for _ in range(scan.at_once):
            group.create_task(_attempts(left, seen))


async def _attempts(left: Iterator[tuple[str, int]], seen: Scanned) -> None:
    loop = asyncio.get_running_loop()
    for address, port in left:
        with bound(CLIENT[4]) as sock:
            try:
                await asyncio.wait_for(loop.sock_connect(sock, (address, port)), PATIENCE_S)
                seen.wrong += 1
            except ConnectionRefusedError:
                seen.refused += 1
            except TimeoutError:
                seen.silent += 1


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:]))))
