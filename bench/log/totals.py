"""Totals of the largest connection of a capture, as `pktlogger index`, tshark and tcptrace count them.

Packets are told apart by port: the two ports of a connection differ in every trial. All sums are numpy's and Arrow's.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

import pktlogger
from netcommon.binaries import find
from netcommon.errors import LfpError

Totals = dict[str, int]
TIMEOUT_S = 600.0
_FIELDS = ("tcp.srcport", "tcp.len", "tcp.window_size", "tcp.options.sack.count", "tcp.analysis.duplicate_ack")
_FIN, _SYN_FIN_RST = 1, 7
_TCPTRACE = {
    "packets": "total packets",
    "bytes": "actual data bytes",
    "packets with SACK": "sack pkts sent",
    "packets with window 0": "zero win adv",
}


@dataclass(frozen=True)
class Connection:
    """The ports of the side that opened the connection and of the other one."""

    ports: tuple[int, int]


def require() -> None:
    """LfpError where a program for the comparison is missing; called before minutes of trials."""
    if missing := [name for name in ("tshark", "tcptrace") if not shutil.which(name)]:
        raise LfpError(
            f"{' and '.join(missing)}: not installed; log.agree compares with it. 'tools/install-packages "
            "debian-packages.txt bench/log/debian-packages.txt' installs both"
        )


def run(*argv: str | Path) -> bytes:
    """What a program prints. LfpError when it fails."""
    done = subprocess.run([str(word) for word in argv], capture_output=True, timeout=TIMEOUT_S)
    if done.returncode:
        raise LfpError(f"{argv[0]}: exit status {done.returncode}: {done.stderr.decode(errors='replace')[:200]}")
    return done.stdout


def _index(capture: Path) -> tuple[list[dict[str, Any]], dict[str, pa.ChunkedArray]]:
    """The sides of the largest connection, and the columns of its packets."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "columns"
        run(find("pktlogger"), "index", capture, "-o", folder)
        table = pktlogger.read_index(folder)
        flows = json.loads((folder / "flows.json").read_text())["flows"]
    number = max(range(len(flows)), key=lambda i: sum(side["bytes"] for side in flows[i]["sides"]))
    of_flow = table.filter(table["flow"].to_numpy() == number)
    return flows[number]["sides"], {name: of_flow[name] for name in of_flow.schema.names}


def by_pktlogger(capture: Path) -> tuple[Connection, tuple[Totals, Totals]]:
    """The largest connection, and its totals in both directions."""
    sides, columns = _index(capture)
    way, sacks, window = (columns[name].to_numpy() for name in ("dir", "sack_n", "window"))
    duplicate = duplicate_acks(columns)

    def totals(dir_: int) -> Totals:
        here = way == dir_
        return {
            "packets": sides[dir_]["packets"],
            "bytes": sides[dir_]["bytes"],
            "packets with SACK": int((sacks[here] > 0).sum()),
            "packets with window 0": int((window[here] == 0).sum()),
            "duplicate ACKs": int(duplicate[here].sum()),
        }

    return Connection((sides[0]["port"], sides[1]["port"])), (totals(0), totals(1))


def duplicate_acks(columns: dict[str, Any]) -> np.ndarray:
    """For each packet, whether it is a duplicate acknowledgement by Wireshark's definition: no data, no SYN, FIN or
    RST, the next sequence number of its sender, and the acknowledgement and the window, not 0, of the packet before."""
    seq, ack, length, window, flags, way = (
        columns[name].to_numpy() for name in ("seq", "ack", "len", "window", "flags", "dir")
    )
    duplicates = np.zeros(way.size, bool)
    for dir_ in (0, 1):
        (at,) = np.nonzero(way == dir_)
        after = seq[at] + length[at] + (flags[at] & _FIN) + (flags[at] >> 1 & 1)
        same = (np.diff(ack[at]) == 0) & (np.diff(window[at]) == 0) & (seq[at][1:] == np.maximum.accumulate(after)[:-1])
        plain = (length[at] == 0) & (flags[at] & _SYN_FIN_RST == 0) & (window[at] > 0)
        duplicates[at[1:]] = same & plain[1:]
    return duplicates


def dsack_frames(capture: Path) -> np.ndarray:
    """Numbers of the packets to the sender that report a duplicate."""
    _, columns = _index(capture)
    return np.asarray(columns["frame"].to_numpy()[dsacks(columns) & (columns["dir"].to_numpy() == 1)])


def fins_again(capture: Path) -> int:
    """How many times the side that opened the largest connection sent its FIN again."""
    _, columns = _index(capture)
    fins = (columns["flags"].to_numpy() & _FIN > 0) & (columns["dir"].to_numpy() == 0)
    return max(int(fins.sum()) - 1, 0)


def dsacks(columns: dict[str, Any]) -> np.ndarray:
    """Whether each packet's first SACK block reports a duplicate: it is below what the packet acknowledges, or within
    the second block (RFC 2883, section 4)."""
    sacks, ack = (columns[name].to_numpy() for name in ("sack_n", "ack"))
    reported = np.zeros(sacks.size, bool)
    reported[sacks > 0] = _edge(columns, "sack_left", 0) < ack[sacks > 0]
    within = _edge(columns, "sack_left", 0, 1) >= _edge(columns, "sack_left", 1)
    within &= _edge(columns, "sack_right", 0, 1) <= _edge(columns, "sack_right", 1)
    reported[sacks > 1] |= within
    return reported


def _edge(columns: dict[str, Any], name: str, block: int, least: int | None = None) -> np.ndarray:
    """An edge of each packet's SACK block number `block` (from 0). Only packets with more than `least` blocks (default:
    `block`) are listed."""
    more = columns["sack_n"].to_numpy() > (block if least is None else least)
    return np.asarray(pc.list_element(columns[name].filter(more), block).to_numpy())


def by_tshark(capture: Path, connection: Connection) -> tuple[Totals, Totals]:
    """The totals of a connection, from every packet that tshark dissects as TCP."""
    shown = " && ".join(f"tcp.port=={port}" for port in connection.ports)
    fields = [word for name in _FIELDS for word in ("-e", name)]
    text = run("tshark", "-r", capture, "-Y", shown, "-T", "fields", *fields)
    table = csv.read_csv(
        io.BytesIO(text),
        read_options=csv.ReadOptions(column_names=list(_FIELDS)),
        parse_options=csv.ParseOptions(delimiter="\t"),
        convert_options=csv.ConvertOptions(column_types=dict.fromkeys(_FIELDS[3:], "string"), strings_can_be_null=True),
    )
    port, length, window = (table[name].to_numpy() for name in _FIELDS[:3])
    sacked, duplicate = (~np.asarray(table[name].is_null().to_numpy()) for name in _FIELDS[3:])

    def totals(source: int) -> Totals:
        here = port == source
        return {
            "packets": int(here.sum()),
            "bytes": int(length[here].sum()),
            "packets with SACK": int(sacked[here].sum()),
            "packets with window 0": int((window[here] == 0).sum()),
            "duplicate ACKs": int(duplicate[here].sum()),
        }

    return totals(connection.ports[0]), totals(connection.ports[1])


def by_tcptrace(capture: Path, connection: Connection) -> tuple[Totals, Totals]:
    """The totals of a connection from tcptrace's long output, and the packets that it calls retransmitted."""
    for block in run("tcptrace", "-l", "-n", capture).decode().split("=" * 32 + "\n"):
        ports = [int(port) for port in re.findall(r"host \w+:\s+\S+:(\d+)\n", block)]
        if sorted(ports) == sorted(connection.ports):
            found = re.findall(r"^     ([^:\n]+):\s+(\S+)[ a-z]*?\s+\1:\s+(\S+)", block, re.MULTILINE)
            rows = {label: values for label, *values in found}
            labels = _TCPTRACE | {"bytes sent again": "rexmt data bytes"}
            one, two = ({name: int(rows[label][way]) for name, label in labels.items()} for way in (0, 1))
            return (one, two) if ports[0] == connection.ports[0] else (two, one)
    raise LfpError(f"tcptrace does not show the connection of ports {connection.ports} in {capture.name}")
