"""One sender against others at ``rttcp -r``: what runs inside the guest. Each sender is a process with an address of
its own, so this must run in virtual time, where computing takes no time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import rttcp
from bench.attack import socks
from bench.attack.share import Share
from bench.gateway_lab import CLIENT, SERVER, Lab, bound, in_netns, inside, lft_lab
from netcommon.binaries import find
from netcommon.process import Tool

OTHERS = [f"10.81.0.{10 + i}" for i in range(3)]
EACH = len(OTHERS) + 1  # sources that share the resource
STEADY_S, PATIENCE_S, DEMAND = 3.0, 10.0, 4
SLOW = ("--pace", "8kbit", "--length", "100", "--duration", "1h")  # a session that is never idle
WORK = ("--pace", "80kbit", "--length", "1000", "--duration", "1h")


@contextlib.contextmanager
def _receiver(*options: str, program: tuple[str, ...] = ()) -> Iterator[Lab]:
    with lft_lab(kind=Lab, options={"delay": "10ms", "spin": "0"}) as lab:
        for address in OTHERS:
            in_netns(lab.client, "ip", "addr", "add", f"{address}/24", "dev", "eth0")
        argv = [*program, str(find("rttcp")), "--receive", "--json", "--parent-death", *options]
        with Tool(argv, netns_pid=lab.server, name="rttcp receiver") as receiver:
            receiver.wait_event("ready", 30)
            yield lab


@dataclass(frozen=True)
class _Senders:
    """Senders that run. ``outputs``: what each prints."""

    processes: list[subprocess.Popen[bytes]]
    outputs: list[IO[bytes]]

    def begun(self) -> float:
        """How many senders have a session."""
        return float(sum(b'"interval"' in os.pread(one.fileno(), 1 << 16, 0) for one in self.outputs))


@contextlib.contextmanager
def _senders(lab: Lab, source: str, n: int, *options: str) -> Iterator[_Senders]:
    """Runs this many senders of one source, until the end of the block."""
    argv = [str(find("rttcp")), "-t", SERVER[4], "--bind", source, "--json", "--parent-death", *options]
    with contextlib.ExitStack() as stack:
        outputs: list[IO[bytes]] = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(n)]
        made = [subprocess.Popen(inside(lab.client, *argv), stdout=out, stderr=subprocess.DEVNULL) for out in outputs]
        try:
            yield _Senders(made, outputs)
        finally:
            for one in made:
                one.kill()
            for one in made:
                one.wait()


def _compared(lab: Lab, greedy: int, demand: int, options: tuple[str, ...] = ()) -> tuple[float, list[float]]:
    """The number of sessions that the greedy sender got, and the numbers that the others got. ``options``: all senders'
    options."""
    with _senders(lab, CLIENT[4], greedy, *SLOW, *options) as one, contextlib.ExitStack() as stack:
        time.sleep(STEADY_S)
        others = [stack.enter_context(_senders(lab, source, demand, *WORK, *options)) for source in OTHERS]
        time.sleep(PATIENCE_S)
        return one.begun(), [other.begun() for other in others]


def sessions(places: int) -> Share:
    """``--sessions``: the one sender wants all, and its sessions are slow but never idle."""
    with _receiver("--sessions", str(places)) as lab:
        took, got = _compared(lab, places, places // EACH)
    return Share(took, got, places // EACH, "sessions")


def memory(sessions: int) -> Share:
    """``--memory``: room for this number of sessions of 5.3 MB, and the one sender wants all of it."""
    with _receiver("--memory", f"{6 * sessions}MB") as lab:
        took, got = _compared(lab, sessions, sessions // EACH, ("--offset", "4MB"))
    return Share(took, got, sessions // EACH, "sessions of 5 MB")


def descriptors(limit: int) -> Share:
    """The receiver's descriptors: the one source opens twice as many connections and sends nothing, and opens another
    one whenever one is closed."""
    with _receiver(program=("prlimit", f"--nofile={limit}:{limit}", "--")) as lab:
        flood = [sys.executable, "-m", __spec__.name, "flood", str(2 * limit)]
        with subprocess.Popen(inside(lab.client, *flood)) as greedy:
            try:
                time.sleep(STEADY_S)
                with contextlib.ExitStack() as stack:
                    others = [stack.enter_context(_senders(lab, source, DEMAND, *WORK)) for source in OTHERS]
                    time.sleep(PATIENCE_S)
                    got = [other.begun() for other in others]
            finally:
                greedy.kill()
    return Share(limit, got, DEMAND, "descriptors")


async def _flood(connections: int) -> None:
    async def opens() -> socket.socket:
        sock = bound(CLIENT[4])
        try:
            await asyncio.get_running_loop().sock_connect(sock, (SERVER[4], rttcp.DEFAULT_PORT))
        except OSError:
            sock.close()
            raise
        return sock

    async with socks.Greedy(connections, opens):
        await asyncio.Event().wait()


ROWS = {row.__name__: row for row in (sessions, memory, descriptors)}


def main(name: str, arguments: str) -> None:
    """Measures a row and prints its share; with ``flood``, runs as the one source that opens connections."""
    if name == "flood":
        asyncio.run(_flood(int(arguments)))
    print(json.dumps(ROWS[name](**json.loads(arguments)).as_json()))


if __name__ == "__main__":
    main(*sys.argv[1:])
