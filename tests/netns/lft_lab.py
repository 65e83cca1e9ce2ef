"""client, gateway, comet-delay, gateway, server in namespaces: ``with lft_lab() as lab, lab.gateways(…): …``."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from comet_box import LEFT, LEFT6, RIGHT, RIGHT6, Box, Hosts, in_netns, ip

from comet_delay import Control
from netcommon.binaries import find
from netcommon.netns import call_in
from netcommon.process import Tool

CLIENT = {4: "10.81.0.2", 6: "fd81::2"}
SERVER = {4: "10.82.0.2", 6: "fd82::2"}
GATEWAY = {4: "10.81.0.1", 6: "fd81::1"}
# A net behind the far gateway that it has no way to.
NOWHERE = {4: "10.83.0.2", 6: "fd83::2"}
OUTER = {4: (LEFT, RIGHT), 6: (f"[{LEFT6}]", f"[{RIGHT6}]")}


def test_program(name: str) -> Path:
    """A program of the build that is there for tests alone (tests/c/lft_gateway): beside the gateway in use."""
    path = find("lft-gateway").resolve().parent / "test" / name
    assert path.exists(), f"{path}: not there; want a build with -DLFP_TESTS=ON"
    return path


test_program.__test__ = False  # type: ignore[attr-defined]


def until(true: Callable[[], bool], timeout_s: float, what: str) -> float:
    """Waits until ``true()``; returns how long that took, in seconds."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() < began + timeout_s, f"after {timeout_s} s: not yet {what}"
        time.sleep(0.02)
    return time.monotonic() - began


@dataclass
class Lab:
    """Namespaces by role, the box between the gateways, and a folder for sockets and keys."""

    client: str
    server: str
    near: str
    far: str
    box: Box
    folder: Path
    running: dict[str, Tool] = field(default_factory=dict)
    program: list[str] = field(default_factory=list)

    def start(
        self, which: str, *options: str, outer: int = 4, carriage: str = "udp", listen: str = "", peer: str = ""
    ) -> Tool:
        """Starts the gateway ``near`` (which begins the tunnel) or ``far``; it ends with the block of ``gateways``.
        What is started is ``program``, if that is set (another gateway, or the gateway in an environment)."""
        here, there = OUTER[outer] if which == "near" else OUTER[outer][::-1]
        argv = [*(self.program or [str(find("lft-gateway"))]), "run", "--psk-file", str(self.folder / "psk")]
        argv += ["--carriage", carriage, "--control", str(self.folder / which), "--drain", "0s"]
        argv += ["--listen", listen or f"{here}:2004", *options]
        argv += ["--peer", peer or f"{there}:2004"] if which == "near" else []
        tool = Tool(["ip", "netns", "exec", getattr(self, which), *argv])
        tool.__enter__()
        self.running[which] = tool
        tool.wait_event("ready", timeout_s=10)
        return tool

    def show(self, which: str = "near") -> dict[str, Any]:
        """The gateway's state."""
        state: dict[str, Any] = json.loads(self.verb(which, "show"))
        return state

    def verb(self, which: str, verb: str, *arguments: str) -> str:
        """Output of a verb of lft-gateway that must succeed."""
        argv = [str(find("lft-gateway")), verb, "--control", str(self.folder / which), *arguments]
        return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=10).stdout

    def kill(self, which: str) -> None:
        """Ends a gateway as a crash would."""
        tool = self.running.pop(which)
        os.kill(tool.pid, signal.SIGKILL)
        tool.__exit__(None, None, None)

    def stop(self, which: str) -> None:
        """Ends a gateway in order."""
        tool = self.running.pop(which)
        tool.stop()
        tool.__exit__(None, None, None)

    def wait_accelerating(self, timeout_s: float = 10) -> float:
        """Waits until new connections are taken over; returns the seconds."""
        return until(lambda: not self.show()["bypassed"], timeout_s, "accelerating")

    @contextmanager
    def gateways(self, *options: str, outer: int = 4, carriage: str = "udp") -> Iterator[None]:
        """Both gateways, up, with the same options; ended afterwards."""
        try:
            self.start("far", *options, outer=outer, carriage=carriage)
            self.start("near", *options, outer=outer, carriage=carriage)
            self.wait_accelerating()
            yield
        finally:
            for which in list(self.running):
                self.stop(which)

    def set_path(self, **values: str) -> None:
        """Changes the box: ``set_path(loss="100%")`` is a path that is cut."""
        with Control(self.box.socket) as control:
            control.set(**values)

    def cut_tunnel(self, cut: bool) -> None:
        """Only the tunnel's datagrams are dropped, or no longer."""
        for netns in (self.near, self.far):
            chain = "chain in { type filter hook input priority 0; udp dport 2004 drop; };"
            in_netns(netns, "nft", f"table inet cut {{ {chain}}}" if cut else "delete table inet cut")

    def listen(self, family: int, port: int) -> socket.socket:
        """A listener at the server."""
        kind = socket.AF_INET6 if family == 6 else socket.AF_INET

        def make() -> socket.socket:
            return socket.create_server((SERVER[family], port), family=kind, backlog=64)

        listener = call_in(self.server, make)
        listener.settimeout(10)
        return listener

    def connect(self, address: str, port: int, timeout_s: float = 10) -> socket.socket:
        """A connection of the client."""
        return call_in(self.client, socket.create_connection, (address, port), timeout_s)


def wire(one: str, other: str, mtu: int = 1500) -> None:
    """A veth pair: ``eth0`` of one, ``lan0`` of the other."""
    ip(
        "-n",
        one,
        "link",
        "add",
        "eth0",
        "mtu",
        str(mtu),
        "type",
        "veth",
        "peer",
        "name",
        "lan0",
        "mtu",
        str(mtu),
        "netns",
        other,
    )
    for netns, interface in ((one, "eth0"), (other, "lan0")):
        ip("-n", netns, "link", "set", interface, "up")


def address(netns: str, interface: str, v4: str, v6: str) -> None:
    ip("-n", netns, "addr", "add", f"{v4}/24", "dev", interface)
    ip("-n", netns, "addr", "add", f"{v6}/64", "dev", interface, "nodad")


def routes(lab_hosts: Hosts, client: str, server: str) -> None:
    """Both gateways are routers; behind the far one lies a net that it refuses to route to."""
    for host, router, v4, v6 in (
        (client, lab_hosts.left, "10.81.0", "fd81:"),
        (server, lab_hosts.right, "10.82.0", "fd82:"),
    ):
        in_netns(router, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        wire(host, router)
        address(host, "eth0", f"{v4}.2", f"{v6}:2")
        address(router, "lan0", f"{v4}.1", f"{v6}:1")
        ip("-n", host, "route", "add", "default", "via", f"{v4}.1")
        ip("-n", host, "-6", "route", "add", "default", "via", f"{v6}:1")


def wan_routes(hosts: Hosts) -> None:
    """Once the box has made ``wan``."""
    for net in ("10.82.0.0/24", "10.83.0.0/24"):
        ip("-n", hosts.left, "route", "add", net, "via", RIGHT)
    for net in ("fd82::/64", "fd83::/64"):
        ip("-n", hosts.left, "-6", "route", "add", net, "via", RIGHT6)
    ip("-n", hosts.right, "route", "add", "10.81.0.0/24", "via", LEFT)
    ip("-n", hosts.right, "-6", "route", "add", "fd81::/64", "via", LEFT6)
    ip("-n", hosts.right, "route", "add", "unreachable", "10.83.0.0/24")
    ip("-n", hosts.right, "-6", "route", "add", "unreachable", "fd83::/64")


@contextmanager
def lft_lab(**options: str) -> Iterator[Lab]:
    """Four namespaces and a box with these options, gone afterwards; no gateway runs yet."""
    mark = uuid.uuid4().hex[:8]
    names = {role: f"lft-{role[0]}-{mark}" for role in ("client", "server", "near", "far")}
    hosts = Hosts(names["near"], names["far"])
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lft-test-")))
        (folder / "psk").write_text("a key for tests, not for use\n")
        (folder / "psk").chmod(0o600)
        for name in names.values():
            ip("netns", "add", name)
            stack.callback(subprocess.run, ["ip", "netns", "del", name], capture_output=True, timeout=10)
            ip("-n", name, "link", "set", "lo", "up")
        routes(hosts, names["client"], names["server"])
        box = stack.enter_context(Box(hosts, **(options or {"delay": "5ms"})))
        wan_routes(hosts)
        yield Lab(names["client"], names["server"], names["near"], names["far"], box, folder)
