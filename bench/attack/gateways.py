"""One client of a gateway that wants everything, against its other clients: the part that runs inside the guest.

    one client, which wants all ─────────┐
    3 others, which want an equal part ──┴─ near, a SOCKS5 proxy ══ comet-delay, RTT 20 ms ══ far ── server

Clients are coroutines of one process, so this must run in virtual time, where computing takes no time. A connection
counts when octets pass over it at the end, while the one client still tries to get more.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from bench.attack import socks
from bench.attack.names import Names
from bench.attack.share import Share
from bench.gateway_lab import CLIENT, LAN, SERVER, WAN, Lab, in_netns, lft_lab
from lft_ref import TUNNEL_PORT
from netcommon.binaries import find
from netcommon.netns import call_in

PORT, LATE_PORT, NAME_PORT, BACKLOG = 8000, 8001, 53, 4096
OBSERVER = "10.77.0.66"
_ETH_P_ALL, _HANDSHAKE = 3, b"\0\0\0\0"
PROXY = (LAN["near"][4], 1080)
SILENT_NET, SILENT = "10.96.0.0/16", "10.96.0.1"
OTHERS = [f"10.81.0.{10 + i}" for i in range(3)]
EACH = len(OTHERS) + 1  # sources that share the resource
LATE_S, STEADY_S, GROWN_S = 2.0, 3.0, 8.0
_PRICE = "echo '20000 10000' > /proc/call_cost; exec \"$@\""  # 20 µs a system call, 10 ns an octet


@contextlib.contextmanager
def lab_of(*options: str, program: tuple[str, ...] = (), path: dict[str, str] | None = None) -> Iterator[Lab]:
    """Running gateways, and a silent network behind the server. ``program``: a command that starts the gateways'
    command, empty for none."""
    with lft_lab(kind=Lab, options={"delay": "10ms", "spin": "0"} | (path or {})) as lab, lab.stopping():
        for address in OTHERS:
            in_netns(lab.client, "ip", "addr", "add", f"{address}/24", "dev", "eth0")
        in_netns(lab.far, "ip", "route", "add", SILENT_NET, "via", SERVER[4])
        in_netns(lab.server, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        in_netns(lab.server, "ip", "route", "add", "blackhole", SILENT_NET)
        lab.program = [*program, str(find("lft-gateway"))] if program else []
        lab.start("far", *options)
        lab.start("near", *options, "--socks5", f"{PROXY[0]}:{PROXY[1]}")
        lab.wait_accelerating()
        yield lab


@contextlib.asynccontextmanager
async def _serving(lab: Lab) -> AsyncIterator[None]:
    """The server: echoes at PORT at once and at LATE_PORT after LATE_S, and answers look-ups of names that begin with
    ``late`` after LATE_S, too."""
    loop = asyncio.get_running_loop()
    drop = f"chain in {{ type filter hook input priority 0; tcp dport {LATE_PORT} drop; }};"
    in_netns(lab.server, "nft", f"table inet late {{ {drop}}}")
    for port in (PORT, LATE_PORT):
        listener = call_in(lab.server, socket.create_server, (SERVER[4], port), backlog=BACKLOG)
        await loop.create_server(socks.Echo, sock=listener)
    names = call_in(lab.server, socket.socket, socket.AF_INET, socket.SOCK_DGRAM)
    names.bind((SERVER[4], NAME_PORT))
    await loop.create_datagram_endpoint(lambda: Names(SERVER[4], LATE_S), sock=names)
    yield


@dataclass(frozen=True)
class Demand:
    """How many connections the one client wants, how many each other client wants, and their destinations."""

    one: int
    other: int
    of_one: tuple[str, int] = (SERVER[4], PORT)
    of_others: tuple[str, int] = (SERVER[4], PORT)


async def _against(lab: Lab, demand: Demand) -> tuple[float, list[float]]:
    """How many connections the one client holds in the end, and how many each other client has."""

    def opens(source: str, to: tuple[str, int]) -> socks.Open:
        return functools.partial(socks.connect, source, PROXY, *to)

    async def end_lateness() -> None:
        await asyncio.sleep(LATE_S)
        await asyncio.to_thread(in_netns, lab.server, "nft", "delete table inet late")

    async with _serving(lab), socks.Greedy(demand.one, opens(CLIENT[4], demand.of_one)) as one:
        await asyncio.sleep(STEADY_S)
        begin = socks.in_turn if demand.of_others[1] == PORT else socks.at_once
        wanted = (begin(opens(source, demand.of_others), demand.other) for source in OTHERS)
        late = asyncio.create_task(end_lateness())
        made = await asyncio.gather(*wanted)
        await late
        await asyncio.sleep(STEADY_S)
        got = [float(sum(await asyncio.gather(*map(socks.echoes, held)))) for held in made]
        for sock in (sock for held in made for sock in held):
            sock.close()
        return float(len(one.held)), got


def _measured(lab: Lab, demand: Demand) -> tuple[float, list[float]]:
    return call_in(lab.client, asyncio.run, _against(lab, demand))


def sessions(places: int, loss: str = "0") -> Share:
    """``--sessions``: the one client wants twice as many sessions as there are."""
    with lab_of("--sessions", str(places), path={"loss": loss}) as lab:
        took, got = _measured(lab, Demand(2 * places, places // EACH))
    return Share(took, got, places // EACH, "connections")


def half_open(places: int, loss: str = "0") -> Share:
    """``--half-open``: the one client asks for an address that is silent, and the others for a port that is late."""
    with lab_of("--half-open", str(places), path={"loss": loss}) as lab:
        demand = Demand(2 * places, places // EACH, (SILENT, PORT), (SERVER[4], LATE_PORT))
        _, got = _measured(lab, demand)
        took = float(lab.show()["relay"]["half_open"])
    return Share(took, got, places // EACH, "half-open connections")


def names(places: int, loss: str = "0") -> Share:
    """Look-ups of names, which ``--half-open`` limits: the one client's are not answered, the others' are answered
    late."""
    with lab_of("--half-open", str(places), path={"loss": loss}) as lab:
        demand = Demand(2 * places, places // EACH, ("never.example", LATE_PORT), ("late.example", LATE_PORT))
        _, got = _measured(lab, demand)
        took = float(lab.show()["relay"]["half_open"])
    return Share(took, got, places // EACH, "look-ups of names")


def descriptors(limit: int) -> Share:
    """The gateways' descriptors: the one client wants twice as many connections as they allow."""
    with lab_of(program=("prlimit", f"--nofile={limit}:{limit}", "--")) as lab:
        due = int(lab.show()["parameters"]["sessions"]) // EACH
        took, got = _measured(lab, Demand(2 * limit, due))
    return Share(took, got, due, "descriptors")


class _Sink(asyncio.Protocol):
    """Counts a connection's octets for its source. The first octet is the source's number."""

    def __init__(self, counts: dict[int, int]) -> None:
        self._counts, self._source = counts, -1

    def data_received(self, data: bytes) -> None:
        """Octets."""
        if self._source < 0:
            self._source = data[0]
        self._counts[self._source] = self._counts.get(self._source, 0) + len(data)


async def _send(source: str, number: int) -> None:
    loop, part = asyncio.get_running_loop(), bytes([number]) * (1 << 17)
    sock = await socks.connect(source, PROXY, SERVER[4], PORT)
    with sock:
        while True:
            await loop.sock_sendall(sock, part)


async def _all_send(lab: Lab, connections: int) -> dict[int, int]:
    """The octets of each source in GROWN_S, after the windows have grown. The one client has ``connections``
    connections, the others have one each."""
    counts: dict[int, int] = {}
    listener = call_in(lab.server, socket.create_server, (SERVER[4], PORT), backlog=BACKLOG)
    await asyncio.get_running_loop().create_server(lambda: _Sink(counts), sock=listener)
    sources = [CLIENT[4]] * connections + OTHERS
    numbers = [0] * connections + list(range(1, EACH))
    tasks = [asyncio.create_task(_send(*one)) for one in zip(sources, numbers, strict=True)]
    await asyncio.sleep(GROWN_S)
    counts.clear()
    await asyncio.sleep(GROWN_S)
    found = dict(counts)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return found


def processor(connections: int) -> Share:
    """The processor time of gateways, where each system call and octet has a cost: all clients send as fast as they
    can, the one client over this many connections."""
    with lab_of(program=("sh", "-c", _PRICE, "sh")) as lab:
        octets = call_in(lab.client, asyncio.run, _all_send(lab, connections))
    mbit = {number: 8e-6 * octets.get(number, 0) / GROWN_S for number in range(EACH)}
    return Share(mbit[0], [mbit[n] for n in range(1, EACH)], sum(mbit.values()) / EACH, "Mbit/s")


@contextlib.contextmanager
def _copying(lab: Lab, copies: int) -> Iterator[list[int]]:
    """An observer next to the near gateway, who sends this many copies of each INIT from an address of his own. Yields
    a list whose only element counts the copies."""
    counted, over = [0], threading.Event()

    def copy() -> None:
        with (
            socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ETH_P_ALL)) as ears,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth,
        ):
            ears.bind(("wan", _ETH_P_ALL))
            ears.settimeout(0.1)
            mouth.bind((OBSERVER, 0))
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    packet = ears.recv(2048)
                    ours = packet[12:16] == socket.inet_aton(WAN["near"][4]) and packet[28:].startswith(_HANDSHAKE)
                    for _ in range(copies * ours):
                        mouth.sendto(packet[28:], (WAN["far"][4], TUNNEL_PORT))
                    counted[0] += copies * ours

    in_netns(lab.near, "ip", "addr", "add", f"{OBSERVER}/24", "dev", "wan")
    observer = threading.Thread(target=call_in, args=(lab.near, copy))
    observer.start()
    try:
        yield counted
    finally:
        over.set()
        observer.join()


def handshakes(copies: int) -> Share:
    """Handshakes of the tunnel: an observer sends this many copies of each INIT. The figure is 1 / (the time in which a
    restarted near gateway gets its tunnel up), compared with the same without the observer."""
    with lab_of() as lab:

        def again() -> float:
            lab.stop("near")
            began = time.monotonic()
            lab.start("near")
            lab.wait_accelerating()
            return 1 / (time.monotonic() - began)

        alone = again()
        with _copying(lab, copies) as counted:
            beside = again()
    return Share(counted[0], [beside], alone, "handshakes a second (copies of INITs)")


ROWS = {row.__name__: row for row in (sessions, half_open, names, descriptors, processor, handshakes)}


def serve_names() -> None:
    """Makes the server the name server of all namespaces: the guest's resolv.conf names it."""
    subprocess.run(
        [
            "sh",
            "-c",
            f"f=$(mktemp) && echo nameserver {SERVER[4]} > $f && chmod a+r $f && mount --bind $f /etc/resolv.conf",
        ],
        check=True,
    )


def main(name: str, arguments: str) -> None:
    """Measures a row and prints its share."""
    serve_names()
    print(json.dumps(ROWS[name](**json.loads(arguments)).as_json()))


if __name__ == "__main__":
    main(*sys.argv[1:])
