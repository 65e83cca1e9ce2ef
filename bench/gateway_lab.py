"""The laboratory for gateways, of benches and tests: two hosts behind two gateways, with the delay box between them.

    client ── near ══ comet-delay ══ far ── server

Each is a network namespace, held by a process and named by its id. A host has ``eth0``, a gateway ``lan0`` towards its
host and ``wan`` towards the box. Everything has IPv4 and IPv6 addresses. Without gateways the same path carries plain
TCP, as both gateway nodes are routers.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import lft_ref
from comet_delay import Control, Port, run_argv
from comet_delay.userspace import READY_TIMEOUT_S as BOX_READY_TIMEOUT_S
from lft_ref import TUNNEL_PORT, Gateway, Settings, wait_accelerating, write_key
from netcommon.binaries import find
from netcommon.errors import LfpError
from netcommon.ledger import Ledger
from netcommon.netns import call_in, namespace_path
from netcommon.process import Tool

ROLES = ("client", "near", "far", "server")
CLIENT = {4: "10.81.0.2", 6: "fd81::2"}
SERVER = {4: "10.82.0.2", 6: "fd82::2"}
LAN = {"near": {4: "10.81.0.1", 6: "fd81::1"}, "far": {4: "10.82.0.1", 6: "fd82::1"}}
WAN = {"near": {4: "10.77.0.1", 6: "fd77::1"}, "far": {4: "10.77.0.2", 6: "fd77::2"}}
# An address in a net behind the far gateway, which has no route to it.
NOWHERE = {4: "10.83.0.2", 6: "fd83::2"}
ROUTER = ("--router", "--lan", "lan0")
_IP_BIND_ADDRESS_NO_PORT = 24
MTU = 1500
_HOLD = 'echo "{\\"event\\":\\"ready\\"}"; exec sleep infinity'
_L = TypeVar("_L", bound="Lab")


def inside(netns: int, *argv: str) -> list[str]:
    """A command line that runs in the namespace of a process."""
    return ["nsenter", f"--net={namespace_path(netns)}", "--", *argv]


def bound(address: str) -> socket.socket:
    """A socket that connects from this address, and from whatever port is free towards its destination."""
    sock = socket.socket()
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_IP, _IP_BIND_ADDRESS_NO_PORT, 1)
    sock.bind((address, 0))
    return sock


def in_netns(netns: int, *argv: str, timeout_s: float = 60) -> str:
    """The standard output of a command in the namespace of a process. LfpError when it fails."""
    done = subprocess.run(inside(netns, *argv), capture_output=True, text=True, timeout=timeout_s)
    if done.returncode:
        raise LfpError(f"{' '.join(argv)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


@dataclass
class Lab:
    """The ids of the processes that hold the namespaces, a folder for sockets and the key, and the running gateways."""

    client: int
    near: int
    far: int
    server: int
    folder: Path
    ledger: Ledger | None = None
    running: dict[str, Gateway] = field(default_factory=dict)
    program: list[str] = field(default_factory=list)
    """What is started as a gateway, if set: another gateway, or the gateway in an environment."""

    def start(
        self, which: str, *options: str, outer: int = 4, carriage: str = "udp", listen: str = "", peer: str = ""
    ) -> Gateway:
        """Starts the gateway ``near``, which opens the tunnel, or ``far``. `stop` and the end of `gateways` end it."""
        near = which == "near"
        here, there = (_with_port(WAN[end][outer]) for end in (("near", "far") if near else ("far", "near")))
        settings = Settings(
            psk=write_key(self.folder / "psk"),
            listen=listen or here,
            peer=(peer or there) if near else None,
            control=self.folder / which,
            given={"carriage": carriage},
            options=options,
        )
        name = f"lft-gateway {which}"
        gateway = Gateway(settings, program=self.program, netns_pid=getattr(self, which), name=name, ledger=self.ledger)
        self.running[which] = gateway.__enter__()
        gateway.wait_ready(60)
        return gateway

    def stop(self, which: str) -> None:
        """Ends a gateway in order."""
        self.running.pop(which).__exit__(None, None, None)

    def kill(self, which: str) -> None:
        """Ends a gateway as a crash would."""
        gateway = self.running.pop(which)
        os.kill(gateway.pid, signal.SIGKILL)
        gateway.__exit__(None, None, None)

    @contextmanager
    def stopping(self) -> Iterator[None]:
        """Ends all gateways that run at the end of the block."""
        try:
            yield
        finally:
            for which in list(self.running):
                self.stop(which)

    @contextmanager
    def gateways(
        self, *options: str, outer: int = 4, carriage: str = "udp", whole_frames: bool = False
    ) -> Iterator[None]:
        """Both gateways with the same options, once connections go through the tunnel; ended afterwards.
        ``whole_frames``: only once the path's MTU is known, too."""
        with self.stopping():
            self.start("far", *options, outer=outer, carriage=carriage)
            self.start("near", *options, outer=outer, carriage=carriage)
            ends = list(self.running.values()) if whole_frames else [self.running["near"]]
            wait_accelerating(ends, 60, whole_frames=whole_frames)
            yield

    def wait_accelerating(self, timeout_s: float = 60) -> float:
        """Waits until the near gateway takes over new connections; returns how many seconds that took."""
        return wait_accelerating([self.running["near"]], timeout_s)

    def show(self, which: str = "near") -> dict[str, Any]:
        """A gateway's state."""
        with lft_ref.Control(self.folder / which, timeout_s=60) as control:
            return control.show()

    def verb(self, which: str, verb: str, *arguments: str) -> str:
        """The output of a verb of lft-gateway, which must succeed."""
        argv = [str(find("lft-gateway")), verb, "--control", str(self.folder / which), *arguments]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise LfpError(f"lft-gateway {verb}: {done.stderr.strip()}")
        return done.stdout

    def box_control(self) -> Control:
        """A connection to the control socket of the delay box."""
        return Control(self.folder / "box")

    def set_path(self, **values: str) -> None:
        """Changes the path: ``set_path(loss="100%")`` cuts it."""
        with self.box_control() as control:
            control.set(**values)

    def cut_tunnel(self, cut: bool) -> None:
        """Makes the gateways' namespaces drop the tunnel's datagrams and nothing else (``cut``), or pass them again."""
        for netns in (self.near, self.far):
            chain = f"chain in {{ type filter hook input priority 0; udp dport {TUNNEL_PORT} drop; }};"
            in_netns(netns, "nft", f"table inet cut {{ {chain}}}" if cut else "delete table inet cut")

    def listen(self, family: int, port: int) -> socket.socket:
        """A listener at the server."""
        kind = socket.AF_INET6 if family == 6 else socket.AF_INET

        def make() -> socket.socket:
            return socket.create_server((SERVER[family], port), family=kind, backlog=64)

        listener = call_in(self.server, make)
        listener.settimeout(60)
        return listener

    def connect(self, address: str, port: int, timeout_s: float = 60) -> socket.socket:
        """A connection of the client."""
        return call_in(self.client, socket.create_connection, (address, port), timeout_s)


def _with_port(address: str) -> str:
    return f"[{address}]:{TUNNEL_PORT}" if ":" in address else f"{address}:{TUNNEL_PORT}"


@contextmanager
def lft_lab(
    path: Mapping[str, int | str] | None = None,
    *,
    kind: type[_L],
    folder: Path | None = None,
    ledger: Ledger | None = None,
    options: Mapping[str, str] | None = None,
) -> Iterator[_L]:
    """Four namespaces and a delay box, removed afterwards; no gateway runs yet. ``path`` has both directions'
    parameters as `comet_delay.run_argv` names them; ``options`` are further options of the box (``{"delay": "5ms"}``).
    ``kind`` is Lab, or a class with more methods."""
    with ExitStack() as stack:
        place = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lft-lab-")))
        pids = {role: stack.enter_context(_namespace(role, ledger)) for role in ROLES}
        lab = kind(pids["client"], pids["near"], pids["far"], pids["server"], place, ledger)
        _lan(lab.client, lab.near, CLIENT, LAN["near"])
        _lan(lab.server, lab.far, SERVER, LAN["far"])
        argv = run_argv(Port("wan", lab.near), Port("wan", lab.far), place / "box", both=path, mtu=MTU)
        argv += [word for name, value in (options or {}).items() for word in (f"--{name.replace('_', '-')}", value)]
        stack.enter_context(Tool(argv, name="comet-delay", ledger=ledger)).wait_event("ready", BOX_READY_TIMEOUT_S)
        _wan(lab)
        yield lab


@contextmanager
def _namespace(role: str, ledger: Ledger | None) -> Iterator[int]:
    with Tool(["unshare", "--net", "--", "sh", "-c", _HOLD], name=f"namespace {role}", ledger=ledger) as holder:
        holder.wait_event("ready", 30)
        in_netns(holder.pid, "ip", "link", "set", "lo", "up")
        yield holder.pid


def _lan(host: int, router: int, here: Mapping[int, str], there: Mapping[int, str]) -> None:
    """A veth pair between a host and its gateway, which is the host's default route and forwards packets."""
    in_netns(host, "ip", "link", "add", "eth0", "mtu", str(MTU), "type", "veth",
             "peer", "name", "lan0", "mtu", str(MTU), "netns", str(router))  # fmt: skip
    in_netns(router, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
    _up(router, "lan0", there)
    _up(host, "eth0", here)
    for family, via in there.items():
        in_netns(host, "ip", f"-{family}", "route", "add", "default", "via", via)


def _up(netns: int, interface: str, addresses: Mapping[int, str]) -> None:
    in_netns(netns, "ip", "link", "set", interface, "up")
    for family, address in addresses.items():
        with_length = f"{address}/{24 if family == 4 else 64}"
        in_netns(netns, "ip", "addr", "add", with_length, "dev", interface, *(["nodad"] if family == 6 else []))


def _wan(lab: Lab) -> None:
    """Addresses and routes of the box's interfaces. The far gateway refuses to route to NOWHERE's net."""
    for which, netns in (("near", lab.near), ("far", lab.far)):
        _up(netns, "wan", WAN[which])
    for net in ("10.82.0.0/24", "10.83.0.0/24", "fd82::/64", "fd83::/64"):
        family = 6 if ":" in net else 4
        in_netns(lab.near, "ip", f"-{family}", "route", "add", net, "via", WAN["far"][family])
    for net, refused in (("10.81.0.0/24", "10.83.0.0/24"), ("fd81::/64", "fd83::/64")):
        family = 6 if ":" in net else 4
        in_netns(lab.far, "ip", f"-{family}", "route", "add", net, "via", WAN["near"][family])
        in_netns(lab.far, "ip", f"-{family}", "route", "add", "unreachable", refused)
