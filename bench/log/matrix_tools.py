"""The connections of a capture as pktlogger, tshark, tcptrace and the script that made it count them, in one form.

Connections are told apart by their ports, and those with the same ports by their order.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.log import matrix_talk
from bench.log.matrix_captures import COOKED2, Made
from bench.log.matrix_talk import SYN, Talk
from bench.log.totals import TIMEOUT_S, run
from netcommon.binaries import find
from netcommon.errors import LfpError

Ports = frozenset[tuple[int, int]]
Key = tuple[int, int, int]  # sender's port, receiver's port, number of earlier connections with these ports
_AGAIN = ("retransmission", "fast_retransmission", "spurious_retransmission")
_FIELDS = (
    "tcp.stream",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.len",
    "tcp.flags",
    *(f"tcp.analysis.{one}" for one in _AGAIN),
)


@dataclass(frozen=True)
class Account:
    """One connection. The first of two numbers is the sender's. None: this program does not report it."""

    packets: tuple[int, int] | None
    payload: tuple[int, int] | None  # octets of all packets
    handshake: bool | None
    octets: int | None = None  # octets of the sender's stream
    again: int | None = None  # packets with octets that were sent before
    again_octets: int | None = None
    scales: tuple[int | None, int | None] | None = None
    fins: int = field(default=0, compare=False)  # the sender's


Accounts = dict[Key, Account]


def by_script(made: Made) -> Accounts:
    """What is right."""
    found: Accounts = {}
    for talk, scales in zip(made.talks, made.scales, strict=True):
        right = matrix_talk.right(talk.segments, made.at_sender)
        sides = [[one for one in talk.segments if one.from_sender == sender] for sender in (True, False)]
        found[_key(found, talk.ports)] = Account(
            (len(sides[0]), len(sides[1])),
            (_payload(sides[0]), _payload(sides[1])),
            talk.opened,
            right.octets,
            right.again,
            right.again_octets,
            scales,
            sum(one.flags & 1 for one in sides[0]),
        )
    return found


def _payload(segments: list[matrix_talk.Segment]) -> int:
    return sum(one.length for one in segments)


def _key(found: Accounts, ports: tuple[int, int]) -> Key:
    number = 0
    while (*ports, number) in found:
        number += 1
    return (*ports, number)


def ports_of(talks: list[Talk]) -> Ports:
    """The sender's and the receiver's port of each connection."""
    return frozenset(talk.ports for talk in talks)


def pktlogger(verb: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    argv = [str(find("pktlogger")), verb, *map(str, arguments)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S)


def by_pktlogger(made: Made, folder: Path, *options: str) -> Accounts:
    """pktlogger's counts: packets, payload, handshakes and scales from `index`, the rest from `analyse` with this
    capture alone."""
    options = ("--tunnels", *options) if made.case["tunnel"] != "none" else options
    said = pktlogger("index", made.file, "-o", folder / "index", *options)
    if said.returncode:
        return {}
    flows = json.loads((folder / "index/flows.json").read_text())["flows"]
    again = _analysed(made, folder / "analysis", *options)
    found: Accounts = {}
    for flow in flows:
        sides = flow["sides"]
        ports = (sides[0]["port"], sides[1]["port"])
        if ports not in ports_of(made.talks):
            sides, ports = sides[::-1], (ports[1], ports[0])
        key = _key(found, ports)
        one = again.get(key, {})
        found[key] = Account(
            (sides[0]["packets"], sides[1]["packets"]),
            (sides[0]["bytes"], sides[1]["bytes"]),
            flow["handshake"],
            one.get("bytes", 0),
            one.get("retransmitted", 0),
            one.get("retransmitted_bytes", 0),
            (sides[0]["wscale"], sides[1]["wscale"]),
        )
    return found


def _analysed(made: Made, folder: Path, *options: str) -> dict[Key, dict[str, Any]]:
    said = pktlogger("analyse", "--" + made.case["end"], made.file, "-o", folder, *options)
    if said.returncode:
        return {}
    flows = json.loads((folder / "summary.json").read_text())["flows"]
    found: dict[Key, dict[str, Any]] = {}
    seen: dict[tuple[int, int], int] = defaultdict(int)
    for flow in flows:
        ports = (flow["sender"]["port"], flow["receiver"]["port"])
        found[(*ports, seen[ports])] = flow
        seen[ports] += 1
    return found


def by_index(file: Path, folder: Path) -> tuple[Ports, Accounts]:
    """`index`'s counts for a capture that somebody else made. The side that opened first counts as the sender."""
    folder.mkdir(exist_ok=True)
    said = pktlogger("index", file, "-o", folder / "index", "--tunnels")
    if said.returncode:
        raise LfpError(f"pktlogger index {file.name}: {said.stdout}{said.stderr}")
    found: Accounts = {}
    for flow in json.loads((folder / "index/flows.json").read_text())["flows"]:
        one, two = flow["sides"]
        key = _key(found, (one["port"], two["port"]))
        found[key] = Account((one["packets"], two["packets"]), (one["bytes"], two["bytes"]), flow["handshake"])
    return frozenset(key[:2] for key in found), found


def by_interface(made: Made, folder: Path, interface: int) -> Accounts:
    """The counts of each connection at one of two interfaces, by `analyse --interface`."""
    cooked = made.case["link"] == COOKED2
    wanted = str(2 + interface) if cooked else (f"eth{interface}", str(interface))[made.at_sender]
    options = ["--interface", wanted] + ["--tunnels"] * (made.case["tunnel"] != "none")
    found = _analysed(made, folder / f"interface {interface}", *options)
    return {
        key: Account(None, None, None, flow["bytes"], flow["retransmitted"], flow["retransmitted_bytes"])
        for key, flow in found.items()
    }


def by_tshark(file: Path, known: Ports) -> Accounts:
    """tshark's counts. Retransmissions are all packets that it calls a retransmission of any kind."""
    fields = [word for name in _FIELDS for word in ("-e", name)]
    text = run("tshark", "-n", "-r", file, "-d", "udp.port==8472,vxlan", "-Y", "tcp.stream", "-T", "fields",
               "-E", "occurrence=l", *fields).decode()  # fmt: skip
    streams: dict[int, list[list[str]]] = defaultdict(list)
    for line in text.splitlines():
        values = line.split("\t")
        streams[int(values[0])].append(values)
    found: Accounts = {}
    for _, rows in sorted(streams.items()):
        ports = (int(rows[0][1]), int(rows[0][2]))
        if ports not in known:
            ports = (ports[1], ports[0])
        sides = [[row for row in rows if int(row[1]) == port] for port in ports]
        key = _key(found, ports)
        flags = {int(row[4], 16) & (SYN | 16) for row in rows if int(row[4], 16) & SYN}
        found[key] = Account(
            (len(sides[0]), len(sides[1])),
            (_sum(sides[0]), _sum(sides[1])),
            len(flags) == 2,
            again=sum(any(row[5:]) for row in sides[0] if int(row[3] or 0)),
        )
    return found


def _sum(rows: list[list[str]]) -> int:
    return sum(int(row[3] or 0) for row in rows)


_TCPTRACE = {
    "packets": "total packets",
    "payload": "actual data bytes",
    "again": "rexmt data pkts",
    "again_octets": "rexmt data bytes",
    "unique": "unique bytes sent",
}


def by_tcptrace(file: Path, known: Ports) -> Accounts:
    """A total from tcptrace's long output, in which each direction has a column."""
    found: Accounts = {}
    for block in run("tcptrace", "-l", "-n", file).decode().split("=" * 32 + "\n"):
        ports = tuple(int(port) for port in re.findall(r"host \w+:\s+\S+:(\d+)\n", block))
        if len(ports) != 2:
            continue
        rows = {
            label: values
            for label, *values in re.findall(r"^     ([^:\n]+):\s+(\S+)[ a-z]*?\s+\1:\s+(\S+)", block, re.MULTILINE)
        }
        way = 0 if ports in known else 1
        values = {name: (int(rows[label][way]), int(rows[label][1 - way])) for name, label in _TCPTRACE.items()}
        syns = [rows["SYN/FIN pkts sent"][side].split("/") for side in (way, 1 - way)]
        key = _key(found, (ports[way], ports[1 - way]))
        found[key] = Account(
            values["packets"],
            values["payload"],
            all(int(syn) for syn, _ in syns),
            values["unique"][0],
            values["again"][0],
            values["again_octets"][0],
            fins=int(syns[0][1]),
        )
    return found
