"""`pktlogger push` to `pktlogger sink` over a comet-delay path, and replays over a veth pair; also called in virtual
time (support.virtual)."""

from __future__ import annotations

import json
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from comet_box import RIGHT, Box, Hosts, in_netns, introduce, ip, two_hosts

import pktlogger
from netcommon.binaries import find

Event = dict[str, Any]


def pushed(path: dict[str, str], push: list[str], sink: list[str], fq: bool = False) -> dict[str, Any]:
    """The `end` events of `push` and of `sink`, and the box's own figures of that direction."""
    with two_hosts() as hosts, Box(hosts, **path) as box:
        introduce(hosts)
        if fq:
            in_netns(hosts.left, "tc", "qdisc", "replace", "dev", "wan", "root", "fq")
        ends = push_to_sink(hosts, push, sink)
        return {**ends, "box": box.stop()["statistics"]["ab"]}


def push_to_sink(hosts: Hosts, push: list[str], sink: list[str]) -> dict[str, Any]:
    """The `end` events of both."""
    listen = ["ip", "netns", "exec", hosts.right, str(find("pktlogger")), "sink", "--json", *sink]
    receiver = subprocess.Popen(listen, stdout=subprocess.PIPE, text=True)
    try:
        assert receiver.stdout and json.loads(receiver.stdout.readline())["event"] == "ready"
        sent = in_netns(hosts.left, str(find("pktlogger")), "push", RIGHT, "--json", *push)
        received, _ = receiver.communicate(timeout=60)
    finally:
        receiver.kill()
        receiver.wait()
    return {"push": json.loads(sent.splitlines()[-1]), "sink": json.loads(received.splitlines()[-1])}


def write_capture(path: Path, t_ns: Iterable[int], wire: Iterable[int]) -> Path:
    """A nanosecond pcap of frames of an experimental protocol, cut after the Ethernet header."""
    head = bytes.fromhex("020000000002 020000000001 88b5")
    records = [
        struct.pack("<IIII", int(t) // 10**9, int(t) % 10**9, len(head), int(length)) + head
        for t, length in zip(t_ns, wire, strict=True)
    ]
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1) + b"".join(records))
    return path


def veth(hosts: Hosts) -> None:
    """A veth pair `wan` between the hosts."""
    ip("-n", hosts.left, "link", "add", "wan", "type", "veth", "peer", "name", "wan", "netns", hosts.right)
    for netns in (hosts.left, hosts.right):
        in_netns(netns, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
        ip("-n", netns, "link", "set", "wan", "up")


@contextmanager
def capturing(netns: str, interface: str, file: Path) -> Iterator[None]:
    """A capture at an interface, with whole packets, while the block runs."""
    argv = [str(find("pktlogger")), "capture", "--json", "-s", "64KB", "-i", f"{interface}@{netns}", "-w", str(file)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as tool:
        assert tool.stdout and json.loads(tool.stdout.readline())["event"] == "ready"
        try:
            yield
        finally:
            tool.terminate()
            tool.communicate(timeout=60)


def replayed(capture: str, spin: str) -> dict[str, Any]:
    """The `end` event of a replay over a veth pair; the frames that the other end captured, by length; and by how much
    their gaps differ from those of ``capture``, ns."""
    with two_hosts() as hosts, tempfile.TemporaryDirectory() as folder:
        veth(hosts)
        again = Path(folder) / "again.pcapng"
        with capturing(hosts.right, "wan", again):
            sent = in_netns(
                hosts.left, str(find("pktlogger")), "push", "--json", "--replay", capture, "-i", "wan", "--spin", spin
            )
        before, after = (frames(Path(path), Path(folder) / name) for name, path in (("b", capture), ("a", str(again))))
    sent_sizes, got_sizes = before["bytes"].tolist(), after["bytes"].tolist()
    gaps = [np.diff(table["t_ns"]) for table in (before, after)]
    errors = np.abs(gaps[1] - gaps[0]).tolist() if len(before["t_ns"]) == len(after["t_ns"]) else []
    return {"push": json.loads(sent.splitlines()[-1]), "sent": sent_sizes, "got": got_sizes, "gap_errors_ns": errors}


def frames(capture: Path, folder: Path) -> dict[str, np.ndarray]:
    """Time and length of every frame of a capture."""
    subprocess.run([find("pktlogger"), "frames", capture, "-o", folder], check=True, capture_output=True, timeout=60)
    table = pktlogger.read_table(folder)
    return {name: table[name].to_numpy() for name in ("t_ns", "bytes")}
