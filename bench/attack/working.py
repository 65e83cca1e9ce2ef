"""Clients of gateways at their work, alone and then during all attacks at once: the part that runs inside the guest.

    clients at work ───────┐
    a source an attack ────┴─ near ══ comet-delay, 100 Mbit/s, RTT 20 ms ══ far ── server ── a net of silent addresses

A client connects through the router, sends octets that never repeat, compares what the server returns, closes, and
begins again. Meanwhile these attacks run, each from a source of its own:

    a port scan            of silent addresses and closed ports
    idle connections       more than the gateway has descriptors for, through its SOCKS5 proxy
    slow readers           of streams without end
    look-ups of names      that are never answered
    an observer            who reads both gateways' state

When the attacks begin, the gateways may open fewer descriptors than the attackers want, so that accept() and socket()
fail, and map no more memory than they have mapped, so that malloc() fails. Their keys are replaced every few minutes.
Clients and attackers are coroutines of one process, so this must run in virtual time, where computing takes no time.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.attack import gateways, socks
from bench.gateway_lab import ROUTER, SERVER, WAN, Lab, bound, in_netns
from netcommon.errors import LfpError
from netcommon.netns import call_in

PORT, ENDLESS_PORT, CLOSED_PORT = 8000, 8002, 20_000
REQUEST = 8192  # octets of a client's request, which the server returns
PERIOD_S = 10.0  # time from one connection of a client to its next
REPORT_S = 60.0
SCAN_A_SECOND, SLOW_READERS, NAMES, IDLE, AGAIN_S = 10, 20, 64, 400, 30.0
DESCRIPTORS = {"near": 200, "far": 260}  # limits during the attacks; attackers want IDLE connections, which is more
OPTIONS = (*ROUTER, "--rate", "95Mbit", "--sessions", "512", "--half-open", "128", "--rekey", "5min")
SCANNER, IDLER, READER, ASKER = "10.81.0.3", "10.81.0.4", "10.81.0.5", "10.81.0.6"
_TIMEOUT_S = 60.0


@dataclass
class Work:
    """What the clients have seen: how long each connection took from its first packet to its last octet (s), and what
    went wrong."""

    took_s: list[float] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    octets: int = 0
    slowest: str = ""

    def as_json(self) -> dict[str, Any]:
        """The number of connections, the median and the largest time (ms), and the first failures."""
        ordered = sorted(self.took_s)
        return {
            "connections": len(ordered),
            "median_ms": 1e3 * ordered[len(ordered) // 2],
            "largest_ms": 1e3 * ordered[-1],
            "lost": len(self.lost),
            "losses": self.lost[:5],
            "octets": self.octets,
            "slowest": self.slowest,
        }

    def took(self, began_s: float, connected_s: float, ended_s: float, what: str) -> None:
        """A connection is through."""
        whole_s = ended_s - began_s
        if whole_s > max(self.took_s, default=0):
            self.slowest = f"{what}: connected after {1e3 * (connected_s - began_s):.1f} ms of {1e3 * whole_s:.1f}"
        self.took_s.append(whole_s)
        self.octets += REQUEST


def _content(client: int, turn: int) -> bytes:
    return hashlib.shake_128(f"{client} {turn}".encode()).digest(REQUEST)


async def _once(source: str, content: bytes) -> float:
    """When it was connected."""
    loop = asyncio.get_running_loop()
    with bound(source) as sock:
        await loop.sock_connect(sock, (SERVER[4], PORT))
        connected = time.monotonic()
        sending = asyncio.create_task(loop.sock_sendall(sock, content))
        back = await socks.exactly(sock, len(content))
        await sending
        if back != content:
            raise ValueError("other octets")
        return connected


async def _client(number: int, source: str, work: Work, first_s: float, seconds: float) -> None:
    began = time.monotonic()
    await asyncio.sleep(first_s)
    for turn in range(round(seconds / PERIOD_S)):
        await asyncio.sleep(began + first_s + turn * PERIOD_S - time.monotonic())
        start = time.monotonic()
        try:
            connected = await asyncio.wait_for(_once(source, _content(number, turn)), _TIMEOUT_S)
            at = f"client {number} after {start - began:.1f} s"
            work.took(start, connected, time.monotonic(), at)
        except (OSError, TimeoutError, ValueError) as error:
            work.lost.append(f"{time.monotonic() - began:.1f} s: {type(error).__name__} {error}")


async def _report(work: Work) -> None:
    """A line a minute, for whoever waits."""
    began = time.monotonic()
    while True:
        await asyncio.sleep(REPORT_S)
        if work.took_s:
            print(json.dumps({"after_s": round(time.monotonic() - began), **work.as_json()}), flush=True)


async def _at_work(sources: list[str], seconds: float) -> Work:
    work = Work()
    reports = asyncio.create_task(_report(work))
    each = [
        _client(number, source, work, PERIOD_S * number / len(sources), seconds)
        for number, source in enumerate(sources)
    ]
    await asyncio.gather(*each)
    reports.cancel()
    return work


class _Endless(asyncio.Protocol):
    """Sends for as long as the other end reads."""

    def connection_made(self, transport: Any) -> None:
        """It begins."""
        self._transport = transport
        self.resume_writing()

    def pause_writing(self) -> None:
        """Enough for now."""
        self._paused = True

    def resume_writing(self) -> None:
        """There is room."""
        self._paused = False
        while not self._paused and not self._transport.is_closing():
            self._transport.write(bytes(1 << 16))


async def _scan() -> None:
    loop, turn = asyncio.get_running_loop(), 0

    async def attempt(to: tuple[str, int]) -> None:
        with bound(SCANNER) as sock, contextlib.suppress(OSError, TimeoutError):
            await asyncio.wait_for(loop.sock_connect(sock, to), 1)

    async with asyncio.TaskGroup() as group:
        while True:
            turn += 1
            silent = f"10.96.{turn >> 8 & 255}.{turn & 255}", PORT
            group.create_task(attempt(silent if turn % 2 else (SERVER[4], CLOSED_PORT + turn % 1000)))
            await asyncio.sleep(1 / SCAN_A_SECOND)


async def _read_slowly() -> None:
    loop = asyncio.get_running_loop()
    while True:
        with contextlib.suppress(OSError), await socks.connect(READER, gateways.PROXY, SERVER[4], ENDLESS_PORT) as sock:
            while await loop.sock_recv(sock, 1):
                await asyncio.sleep(5)
        await asyncio.sleep(AGAIN_S)


async def _observe(lab: Lab, seen: dict[str, int]) -> None:
    while True:
        for which in ("near", "far"):
            seen["looks"] = seen.get("looks", 0) + 1
            try:
                state = await asyncio.to_thread(lab.show, which)
            except (LfpError, OSError):
                seen["looks without an answer"] = seen.get("looks without an answer", 0) + 1
                continue
            name = f"{which} connections"
            seen[name] = max(seen.get(name, 0), int(state["relay"]["connections"]))
        await asyncio.sleep(5)


@contextlib.asynccontextmanager
async def _attacks(lab: Lab, seen: dict[str, int]) -> AsyncIterator[None]:
    def opens(source: str, host: str, port: int) -> socks.Open:
        return functools.partial(socks.connect, source, gateways.PROXY, host, port)

    tasks = [asyncio.create_task(_scan()), asyncio.create_task(_observe(lab, seen))]
    tasks += [asyncio.create_task(_read_slowly()) for _ in range(SLOW_READERS)]
    async with (
        socks.Greedy(NAMES, opens(ASKER, "never.example", PORT), again_s=AGAIN_S),
        socks.Greedy(IDLE, opens(IDLER, SERVER[4], PORT), again_s=AGAIN_S) as idle,
    ):
        yield
        seen["idle connections"] = len(idle.held)
        ended = [task for task in tasks if task.done()]
        seen["attacks that ended"] = len(ended)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _both(lab: Lab, sources: list[str], alone_s: float, seconds: float) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    for port, protocol in ((PORT, socks.Echo), (ENDLESS_PORT, _Endless)):
        listener = call_in(lab.server, socket.create_server, (SERVER[4], port), backlog=gateways.BACKLOG)
        await loop.create_server(protocol, sock=listener)
    names = call_in(lab.server, socket.socket, socket.AF_INET, socket.SOCK_DGRAM)
    names.bind((SERVER[4], gateways.NAME_PORT))
    alone = await _at_work(sources, alone_s)
    seen: dict[str, int] = {}
    with _short_of_everything(lab):
        async with _attacks(lab, seen):
            beside = await _at_work(sources, seconds)
    return {"alone": alone.as_json(), "beside": beside.as_json(), "seen": seen}


@contextlib.contextmanager
def _short_of_everything(lab: Lab) -> Iterator[None]:
    """Limits the gateways to this many descriptors and to the memory that they have mapped."""
    for which, gateway in lab.running.items():
        mapped = re.search(r"VmSize:\s+(\d+) kB", Path(f"/proc/{gateway.pid}/status").read_text(encoding="ascii"))
        assert mapped
        _limit(gateway.pid, f"--nofile={DESCRIPTORS[which]}:", f"--as={int(mapped[1]) * 1024}:")
    yield
    for gateway in lab.running.values():
        _limit(gateway.pid, f"--nofile={sum(DESCRIPTORS.values())}:", "--as=unlimited:")


def _limit(pid: int, *limits: str) -> None:
    subprocess.run(["prlimit", f"--pid={pid}", *limits], check=True)


def measure(clients: int, alone_s: float, seconds: float) -> dict[str, Any]:
    """``alone`` and ``beside``: what the clients saw without and during the attacks (`Work.as_json`); ``seen``: what
    the attackers held; ``near`` and ``far``: the gateways' states."""
    gateways.serve_names()
    with gateways.lab_of(*OPTIONS, path={"rate": "100Mbit", "queue": "1MB"}) as lab:
        sources = [f"10.81.0.{100 + i}" for i in range(clients)]
        lines = [f"addr add {address}/24 dev eth0\n" for address in (SCANNER, IDLER, READER, ASKER, *sources)]
        (lab.folder / "addresses").write_text("".join(lines), encoding="ascii")
        in_netns(lab.client, "ip", "-batch", str(lab.folder / "addresses"))
        in_netns(lab.near, "ip", "route", "add", gateways.SILENT_NET, "via", WAN["far"][4])
        found: dict[str, Any] = call_in(lab.client, asyncio.run, _both(lab, sources, alone_s, seconds))
        return found | {which: lab.show(which) for which in ("near", "far")}


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))))
