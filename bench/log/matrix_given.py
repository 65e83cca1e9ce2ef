"""The captures of tests/captures, which other people's tools and networks make, as tshark and tcptrace count them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.log import matrix_tools
from bench.log.matrix import Tally
from bench.log.matrix_tools import Account, Accounts, Ports
from bench.registry import Row
from netcommon.errors import LfpError

CAPTURES = Path(__file__).resolve().parents[2] / "tests/captures"
QUANTITIES = ("packets", "payload", "handshake")
_TAGS, _TUNNEL = "reads no tag but one 0x8100", "reads no such tunnel"
# For each file and program, the rule that explains all of the program's differences.
WHY: dict[tuple[str, str], str] = {
    ("tshark", "10-double-copy"): "copies count (Wireshark User's Guide, D.9)",
    ("tcptrace", "10-double-copy"): "copies count",
    ("tcptrace", "01-sll2"): "does not read link type 276",
    ("tcptrace", "08-reuse-noleft"): "takes a SYN behind a reset as one of the connection before",
    ("tcptrace", "11-vlan-9100"): _TAGS,
    ("tcptrace", "17-secret-qinq"): _TAGS,
    ("tcptrace", "13-erspan2"): _TUNNEL,
    ("tcptrace", "13-geneve"): _TUNNEL,
    ("tcptrace", "12-srv6-rcv"): "counts IPv6 extension headers as data (findings/tcptrace-ipv6-extensions.sh)",
    ("tcptrace", "12-srv6-snd"): "the same, and it takes the next segment for the destination, against RFC 8200, 8.1",
    ("tcptrace", "21-super"): "leaves out super-packets, whose IPv4 length is 0",
}


def rows() -> Iterator[Row]:
    """A row for each program; none if this is not a checkout."""
    files = sorted(CAPTURES.glob("*.pcap*"))
    for program in ("tshark", "tcptrace") if files else ():
        total = Tally()
        for file in files:
            total.add(compare(program, file))
        yield total.row(f"{len(files)} captures of others, {program}")


def compare(program: str, file: Path) -> Tally:
    """The connections of one file."""
    with tempfile.TemporaryDirectory() as folder:
        ports, ours = matrix_tools.by_index(file, Path(folder))
    why = WHY.get((program, file.name.split(".")[0]), "")
    tally = Tally()
    theirs = _theirs(program, file, ports)
    for key in sorted(ours.keys() | theirs.keys()):
        for name in QUANTITIES:
            pair = (getattr(ours.get(key, _NONE), name), getattr(theirs.get(key, _NONE), name))
            tally.compared += 1
            tally.agree += pair[0] == pair[1]
            if pair[0] != pair[1] and why:
                tally.by_rule[f"{file.name}: {why}"] += 1
            elif pair[0] != pair[1]:
                tally.wrong.append(f"{file.name}: {name} {pair[0]}, {program} {pair[1]}")
    return tally


_NONE = Account(None, None, None)


def _theirs(program: str, file: Path, ports: Ports) -> Accounts:
    """The program's own counts of a file; None where it refuses the file."""
    try:
        read = matrix_tools.by_tshark if program == "tshark" else matrix_tools.by_tcptrace
        return read(file, ports)
    except LfpError:
        return {}
