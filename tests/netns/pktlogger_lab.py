"""Two hosts in network namespaces, directly connected or through a router with a small queue."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.waiting import wait_until

from netcommon.binaries import find
from netcommon.process import Tool

ERA = {  # no SACK, no RACK, no tail-loss probe, no F-RTO, no timestamps, fast retransmit out of reach
    "tcp_sack": 0,
    "tcp_recovery": 0,
    "tcp_early_retrans": 0,
    "tcp_frto": 0,
    "tcp_timestamps": 0,
    "tcp_reordering": 127,
}


def command(*arguments: str | Path, timeout_s: float = 60, check: bool = True) -> str:
    """Runs a program to its end; returns its stdout."""
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, timeout=timeout_s)
    assert not check or done.returncode == 0, f"{arguments}: {done.stderr}"
    return done.stdout


@dataclass
class Lab:
    """Host a sends, host b receives; both have one interface `v0`."""

    a: str
    b: str
    router: str | None
    a_address: str
    b_address: str

    def inside(self, host: str) -> list[str]:
        """Words that put a command into the namespace of a host."""
        return ["ip", "netns", "exec", host]

    def sysctl(self, host: str, **values: int | str) -> None:
        """Sets net.ipv4 sysctls."""
        words = [f"net.ipv4.{name}={value}" for name, value in values.items()]
        command(*self.inside(host), "sysctl", "-qw", *words)

    def offloads(self, host: str, interface: str, on: bool) -> None:
        """Segmentation offloads of an interface, both ways."""
        state = "on" if on else "off"
        words = [word for name in ("tso", "gso", "gro") for word in (name, state)]
        command(*self.inside(host), "ethtool", "-K", interface, *words)

    def counters(self, host: str) -> int:
        """Packets that v0 has received and sent."""
        (link,) = json.loads(command("ip", "-n", host, "-s", "-j", "link", "show", "v0"))
        return int(link["stats64"]["rx"]["packets"]) + int(link["stats64"]["tx"]["packets"])

    def drops(self) -> int:
        """Packets that the router's queue towards b has dropped."""
        (qdisc,) = json.loads(command("tc", "-n", str(self.router), "-s", "-j", "qdisc", "show", "dev", "vb", "root"))
        return int(qdisc["drops"])

    def transfer(self, *options: str, v6: bool = False, timeout_s: float = 60) -> dict[str, Any]:
        """One iperf3 transfer from a to b; iperf3's own report."""
        address = "fd00:9::2" if v6 else self.b_address
        with Tool([*self.inside(self.b), "iperf3", "-s", "-1", "--forceflush"], json_lines=False) as server:
            wait_until(lambda: any("listening" in e["text"] for e in server.events()), "iperf3 listens")
            text = command(*self.inside(self.a), "iperf3", "-c", address, "-J", *options, timeout_s=timeout_s)
        report: dict[str, Any] = json.loads(text)
        return report

    def mark(self, text: bytes) -> None:
        """Sends one datagram from a to b, as a mark in captures: a capture with the mark has all that was sent before.
        Returns when the datagram has arrived: nobody listens at its port, and b's ICMP error has come back."""
        command(*self.inside(self.a), "python3", "-c", _SEND, text.hex(), self.b_address)

    def capture(self, folder: Path, *options: str, points: str = "ab", stdin: bool = False) -> Tool:
        """pktlogger on v0 of the named hosts, into a.pcapng and b.pcapng; not entered yet."""
        argv: list[str | Path] = [find("pktlogger"), "capture"]
        for point in points:
            argv += ["-i", f"v0@{self.a if point == 'a' else self.b}", "-w", folder / f"{point}.pcapng"]
        return Tool([*argv, *options], stdin=stdin)


_SEND = """
import socket, sys
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.settimeout(30)
sender.connect((sys.argv[2], 9))
try:
    sender.send(bytes.fromhex(sys.argv[1]))
    sender.recv(1)
except ConnectionRefusedError:
    pass
"""


@contextmanager
def _namespaces(stack: ExitStack, names: list[str]) -> Iterator[None]:
    for name in names:
        command("ip", "netns", "add", name)
        stack.callback(command, "ip", "netns", "del", name, check=False)
        command("ip", "-n", name, "link", "set", "lo", "up")
    yield


def _address(namespace: str, interface: str, address: str) -> None:
    command("ip", "-n", namespace, "addr", "add", address, "dev", interface, *(["nodad"] if ":" in address else []))


def _up(namespace: str, interface: str, mtu: int) -> None:
    command("ip", "-n", namespace, "link", "set", interface, "mtu", str(mtu), "up")


@contextmanager
def direct(mtu: int = 1500) -> Iterator[Lab]:
    """a and b on one veth pair."""
    prefix = f"pktlogger-{os.getpid()}"
    a, b = f"{prefix}-a", f"{prefix}-b"
    with ExitStack() as stack, _namespaces(stack, [a, b]):
        command("ip", "link", "add", "v0", "netns", a, "type", "veth", "peer", "name", "v0", "netns", b)
        for namespace, last in ((a, 1), (b, 2)):
            _up(namespace, "v0", mtu)
            _address(namespace, "v0", f"10.9.0.{last}/24")
            _address(namespace, "v0", f"fd00:9::{last}/64")
        yield Lab(a, b, None, "10.9.0.1", "10.9.0.2")


@contextmanager
def pumped() -> Iterator[Lab]:
    """Hosts a and b on TAPs that a process connects, as with the delay box."""
    prefix = f"pktlogger-{os.getpid()}"
    a, b = f"{prefix}-a", f"{prefix}-b"
    pump = Path(__file__).with_name("pktlogger_pump.py")
    with ExitStack() as stack, _namespaces(stack, [a, b]):
        argv = ["ip", "netns", "exec", a, "python3", str(pump), f"/run/netns/{b}"]
        tool = stack.enter_context(Tool(argv, json_lines=False))
        wait_until(lambda: any("ready" in event["text"] for event in tool.events()), "the pump has its TAPs")
        for namespace, last in ((a, 1), (b, 2)):
            _up(namespace, "v0", 1500)
            _address(namespace, "v0", f"10.9.0.{last}/24")
        yield Lab(a, b, None, "10.9.0.1", "10.9.0.2")


@contextmanager
def routed(rate: str, limit: str, mtu: int = 1500, rto_min: str | None = None) -> Iterator[Lab]:
    """Hosts a and b with a router between them, whose queue towards b has a rate and a limit. Offloads are off, so that
    each drop is one packet."""
    prefix = f"pktlogger-{os.getpid()}"
    a, router, b = f"{prefix}-a", f"{prefix}-r", f"{prefix}-b"
    with ExitStack() as stack, _namespaces(stack, [a, router, b]):
        for name in (a, router, b):
            command("ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
        command("ip", "link", "add", "v0", "netns", a, "type", "veth", "peer", "name", "va", "netns", router)
        command("ip", "link", "add", "v0", "netns", b, "type", "veth", "peer", "name", "vb", "netns", router)
        lab = Lab(a, b, router, "10.9.1.1", "10.9.2.1")
        links = ((a, "v0", "10.9.1.1"), (router, "va", "10.9.1.2"), (b, "v0", "10.9.2.1"), (router, "vb", "10.9.2.2"))
        for namespace, interface, address in links:
            lab.offloads(namespace, interface, False)
            _address(namespace, interface, f"{address}/24")
            _up(namespace, interface, mtu)
        lab.sysctl(router, ip_forward=1)
        floor = ["rto_min", rto_min] if rto_min else []
        command("ip", "-n", a, "route", "add", "10.9.2.0/24", "via", "10.9.1.2", *floor)
        command("ip", "-n", b, "route", "add", "10.9.1.0/24", "via", "10.9.2.2")
        qdisc = ["root", "tbf", "rate", rate, "burst", "10kb", "limit", limit]
        command("tc", "-n", router, "qdisc", "add", "dev", "vb", *qdisc)
        yield lab
