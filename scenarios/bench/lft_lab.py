"""client, gateway, comet-delay, gateway, server in namespaces of their own, for the benches of lft_ref.

The box counts octets of IP packets (framing ``ip``), as the gateway's limit does, so that a line of 800 Mbit/s and a
limit of 800 Mbit/s are the same thing. Without gateways the same path carries plain TCP.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rttcp
from comet_delay import Control, Port, run_argv
from netcommon import netns
from netcommon.binaries import find
from netcommon.errors import LfpError
from netcommon.process import Tool, ToolError
from scenarios import delay_box, links, tcp_profile
from scenarios.bench.registry import Place

BUFFERS = {"net.ipv4.tcp_rmem": "4096 131072 268435456", "net.ipv4.tcp_wmem": "4096 16384 268435456"}
ROLES = ("client", "near", "far", "server")
CLIENT, SERVER, NEAR, FAR = "10.81.0.2", "10.82.0.2", "10.77.0.1", "10.77.0.2"
MTU, PORT = 1500, 2004
RATE_BPS = 800_000_000
# Of the issue: RTT 200 ms, 4 MB queue.
LONG_PATH: dict[str, int | str] = {
    "delay_ns": 100_000_000, "rate_bps": RATE_BPS, "queue_bytes": 4_000_000, "framing": "ip"
}  # fmt: skip
UP_S = 20.0


@dataclass
class Lab:
    """Process ids that hold the namespaces by role, and the tools that run in them."""

    place: Place
    pids: dict[str, int]
    gateways: dict[str, Tool] = field(default_factory=dict)

    def show(self, which: str) -> dict[str, Any]:
        """A gateway's state."""
        argv = [str(find("lft-gateway")), "show", "--control", str(self.place.scratch / which)]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=10)
        if done.returncode:
            raise LfpError(f"lft-gateway show: {done.stderr.strip()}")
        state: dict[str, Any] = json.loads(done.stdout)
        return state

    def queue_drops(self) -> int:
        """Packets that found the box's queue full, from near to far."""
        with Control(self.place.scratch / "box") as control:
            return int(control.show()["statistics"]["ab"]["drops"]["queue"])

    def cpu_s(self) -> float:
        """Processor time of both gateways so far."""
        return sum(float(self.show(which)["cpu_ns"]) for which in self.gateways) / 1e9

    def resident_bytes(self) -> int:
        """Memory resident in the larger one of the gateways."""
        page = os.sysconf("SC_PAGE_SIZE")
        return max(
            int(Path(f"/proc/{tool.pid}/statm").read_text(encoding="ascii").split()[1]) * page
            for tool in self.gateways.values()
        )

    def rings_bytes(self) -> int:
        """What the rings of the larger one's engine have of that: they are made once and resident as far as they were
        used, 24 octets a frame sent and 32 a number (lft_ref/ARCHITECTURE.md)."""
        engines = [self.show(which)["engine"] for which in self.gateways]
        frames = [sum(int(sent["frames"]) for sent in engine["sent"].values()) for engine in engines]
        return max(24 * sent + 32 * int(engine["next_number"]) for sent, engine in zip(frames, engines, strict=True))

    def descriptors(self) -> int:
        """Descriptors open in both gateways."""
        return sum(len(list(Path(f"/proc/{tool.pid}/fd").iterdir())) for tool in self.gateways.values())

    def transfer(self, congestion: str = "cubic", timeout_s: float = 90.0, **options: Any) -> rttcp.End:
        """A transfer of rttcp from the client to the server; ``options`` are ``rttcp.sender_argv``'s."""
        with self.transferring(congestion, **options) as sender:
            return self.ended(sender, timeout_s + options.get("duration_ns", 0) / 1e9)

    @contextlib.contextmanager
    def transferring(self, congestion: str = "cubic", port: int = rttcp.DEFAULT_PORT, **options: Any) -> Iterator[Tool]:
        """The same, on its way."""
        binary = find("rttcp")
        receive = rttcp.receiver_argv(binary, once=True, port=port)
        with Tool(receive, netns_pid=self.pids["server"], name="rttcp receiver", ledger=self.place.ledger) as server:
            server.wait_event("ready", 5)
            argv = rttcp.sender_argv(SERVER, binary, congestion=congestion, port=port, **options)
            with Tool(argv, netns_pid=self.pids["client"], name="rttcp sender", ledger=self.place.ledger) as sender:
                yield sender

    def ended(self, sender: Tool, timeout_s: float) -> rttcp.End:
        """What a transfer came to."""
        end = rttcp.parse_end(sender.wait_event("end", timeout_s))
        if not end.complete:
            raise LfpError(f"rttcp: {end.error or 'incomplete'}")
        return end


@contextlib.contextmanager
def lab(place: Place, path: dict[str, int | str] | None = None, **options: Any) -> Iterator[Lab]:
    """Namespaces and a box with this path both ways; ``options`` are ``comet_delay.run_argv``'s. No gateway yet."""
    with contextlib.ExitStack() as stack:
        pids = {role: stack.enter_context(_namespace(place, role)) for role in ROLES}
        _lan(pids, "client", "near", CLIENT, "10.81.0.1")
        _lan(pids, "server", "far", SERVER, "10.82.0.1")
        ports = Port("wan", pids["near"]), Port("wan", pids["far"])
        argv = run_argv(*ports, place.scratch / "box", both=path or LONG_PATH, mtu=MTU, **options)
        box = stack.enter_context(Tool(argv, name="comet-delay", ledger=place.ledger))
        box.wait_event("ready", delay_box.READY_TIMEOUT_S)
        for role, address, other, net in (("near", NEAR, FAR, "10.82.0.0/24"), ("far", FAR, NEAR, "10.81.0.0/24")):
            links.bring_up(pids[role], "wan", MTU, [("ipv4", address)])
            _ip(pids[role], "route", "add", net, "via", other)
        yield Lab(place, pids)


@contextlib.contextmanager
def gateways(lab_: Lab, *options: str) -> Iterator[None]:
    """Both gateways with these options, router model, accelerating."""
    key = lab_.place.scratch / "psk"
    key.write_text("a key for benches, not for use\n", encoding="ascii")
    key.chmod(0o600)
    with contextlib.ExitStack() as stack:
        stack.callback(lab_.gateways.clear)
        for which, here in (("far", FAR), ("near", NEAR)):
            peer = ["--peer", f"{FAR}:{PORT}"] if which == "near" else []
            argv = [str(find("lft-gateway")), "run", "--psk-file", str(key), "--listen", f"{here}:{PORT}", *peer]
            argv += ["--router", "--lan", "lan0", "--drain", "0s", *options]
            argv += ["--control", str(lab_.place.scratch / which)]
            tool = Tool(argv, netns_pid=lab_.pids[which], name=f"lft-gateway {which}", ledger=lab_.place.ledger)
            lab_.gateways[which] = stack.enter_context(tool)
            tool.wait_event("ready", 10)
        _wait_accelerating(lab_)
        yield


def _wait_accelerating(lab_: Lab) -> None:
    """Until new connections are taken over and the path MTU is known: a bench measures full frames."""
    deadline = time.monotonic() + UP_S
    while True:
        near, far = lab_.show("near"), lab_.show("far")
        if not near["bypassed"] and not near["tunnel"]["mtu_search"] and not far["tunnel"]["mtu_search"]:
            return
        if time.monotonic() > deadline:
            raise ToolError(f"lft-gateway: tunnel {near['tunnel']['status']} after {UP_S:.0f} s")
        time.sleep(0.05)


@contextlib.contextmanager
def _namespace(place: Place, role: str) -> Iterator[int]:
    command = 'echo "{\\"event\\":\\"ready\\"}"; exec sleep infinity'
    with Tool(["unshare", "--net", "--", "sh", "-c", command], name=f"namespace {role}", ledger=place.ledger) as holder:
        holder.wait_event("ready", 5)
        tcp_profile.apply(tcp_profile.load("modern"), holder.pid)
        settings = BUFFERS | {"net.ipv4.ip_forward": "1"}
        netns.call_in(holder.pid, tcp_profile.write_sysctls, settings)
        links.bring_up(holder.pid, "lo")
        yield holder.pid


def _ip(pid: int, *arguments: str) -> None:
    done = subprocess.run(
        ["nsenter", f"--net={netns.namespace_path(pid)}", "--", "ip", *arguments], capture_output=True, text=True
    )
    if done.returncode:
        raise LfpError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


def _lan(pids: dict[str, int], host: str, router: str, address: str, via: str) -> None:
    """A veth pair: ``eth0`` of a host, ``lan0`` of its gateway."""
    peer = ("peer", "name", "lan0", "netns", str(pids[router]))
    _ip(pids[host], "link", "add", "eth0", "type", "veth", *peer)
    links.bring_up(pids[host], "eth0", MTU, [("ipv4", address)])
    links.bring_up(pids[router], "lan0", MTU, [("ipv4", via)])
    _ip(pids[host], "route", "add", "default", "via", via)
