"""The laboratory for gateways as the benches of lft_ref use it: with tuned hosts, rttcp, and the gateways' CPU time and
memory.

The box counts octets of IP packets (framing ``ip``), as the gateway's limit does, so that a line of 800 Mbit/s and a
limit of 800 Mbit/s are the same thing. Without gateways the same path carries plain TCP.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rttcp
from bench import gateway_lab
from bench.gateway_lab import MTU, ROUTER
from bench.gateway_lab import SERVER as SERVERS
from bench.registry import Place
from netcommon import netns
from netcommon.binaries import find
from netcommon.process import Tool
from scenarios.network import links, sysctls
from scenarios.plan import profiles

__all__ = ["LONG_PATH", "MTU", "RATE_BPS", "ROUTER", "SERVER", "Lab", "lab"]
BUFFERS = {"net.ipv4.tcp_rmem": "4096 131072 268435456", "net.ipv4.tcp_wmem": "4096 16384 268435456"}
SERVER = SERVERS[4]
RATE_BPS = 800_000_000
# RTT 200 ms and a queue of 4 MB: the path of the benches with a limit.
LONG_PATH: dict[str, int | str] = {
    "delay_ns": 100_000_000,
    "rate_bps": RATE_BPS,
    "queue_bytes": 4_000_000,
    "framing": "ip",
}


class Lab(gateway_lab.Lab):
    """The laboratory, with transfers and figures."""

    def queue_drops(self) -> int:
        """Packets that found the box's queue full, from near to far."""
        with self.box_control() as control:
            return int(control.show()["statistics"]["ab"]["drops"]["queue"])

    def cpu_s(self) -> float:
        """Processor time of both gateways so far."""
        return sum(float(self.show(which)["cpu_ns"]) for which in self.running) / 1e9

    def resident_bytes(self) -> int:
        """Resident memory of the larger one of the gateways."""
        page = os.sysconf("SC_PAGE_SIZE")
        return max(
            int(Path(f"/proc/{gateway.pid}/statm").read_text(encoding="ascii").split()[1]) * page
            for gateway in self.running.values()
        )

    def rings_bytes(self) -> int:
        """The part of that memory used by the engine's rings: they are allocated once and resident as far as they were
        used, 24 octets for each frame sent and 32 for each number (lft_ref/ARCHITECTURE.md)."""
        engines = [self.show(which)["engine"] for which in self.running]
        frames = [sum(int(sent["frames"]) for sent in engine["sent"].values()) for engine in engines]
        return max(24 * sent + 32 * int(engine["next_number"]) for sent, engine in zip(frames, engines, strict=True))

    def descriptors(self) -> int:
        """Descriptors open in both gateways."""
        return sum(len(list(Path(f"/proc/{gateway.pid}/fd").iterdir())) for gateway in self.running.values())

    def transfer(self, congestion: str = "cubic", timeout_s: float = 90.0, **options: Any) -> rttcp.End:
        """A transfer of rttcp from the client to the server; ``options`` are ``rttcp.sender_argv``'s."""
        with self.transferring(congestion, **options) as sender:
            return rttcp.finished(sender, timeout_s + options.get("duration_ns", 0) / 1e9)

    @contextmanager
    def transferring(self, congestion: str = "cubic", port: int = rttcp.DEFAULT_PORT, **options: Any) -> Iterator[Tool]:
        """A transfer such as `transfer` makes, as a context manager: it runs inside the block."""
        binary = find("rttcp")
        receive = rttcp.receiver_argv(binary, once=True, port=port)
        with rttcp.listening(receive, netns_pid=self.server, name="rttcp receiver", ledger=self.ledger):
            argv = rttcp.sender_argv(SERVER, binary, congestion=congestion, port=port, **options)
            with Tool(argv, netns_pid=self.client, name="rttcp sender", ledger=self.ledger) as sender:
                yield sender


@contextlib.contextmanager
def lab(place: Place, path: dict[str, int | str] | None = None) -> Iterator[Lab]:
    """The laboratory with this path in both directions, its hosts tuned for long fat pipes; no gateway runs yet."""
    made = gateway_lab.lft_lab(path or LONG_PATH, kind=Lab, folder=place.scratch, ledger=place.ledger)
    with made as found:
        for pid in (found.client, found.near, found.far, found.server):
            sysctls.apply(profiles.load("modern"), pid)
            netns.call_in(pid, sysctls.write_sysctls, BUFFERS)
        for pid, interface in (
            (found.client, "eth0"),
            (found.near, "lan0"),
            (found.near, "wan"),
            (found.far, "wan"),
            (found.far, "lan0"),
            (found.server, "eth0"),
        ):
            links.bring_up(pid, interface, MTU)
        yield found
