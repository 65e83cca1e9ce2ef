"""The SYNs that the delay box recorded: what both ends of each connection offered. They are in box.parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from netcommon import trial_tables
from scenarios.trial.asked import ACCECN, NO_ECN, RFC3168, Handshake

_SYN, _ECN_SHIFT = 0x02, 6  # bits of TCP's flags; ECE, CWR and AE follow each other


def of_record(table: Path) -> list[Handshake]:
    """The handshakes of which both SYNs are in a box's table of packets; none where there is no table."""
    if not table.exists():
        return []
    import pyarrow.compute as compute  # not on top: measuring does not need it, and a guest loads it slowly

    packets = trial_tables.read(table, ["flow", "dir", "flags"])
    flows = trial_tables.described(packets, "pktlogger.flows")["flows"]
    syns = packets.filter(compute.greater(compute.bit_wise_and(packets["flags"], _SYN), 0)).to_pylist()
    return [one for number, flow in enumerate(flows) for one in _handshake(flow, number, syns)]


def _handshake(flow: dict[str, Any], number: int, syns: list[dict[str, Any]]) -> list[Handshake]:
    client, server = flow["sides"]
    if not (client.get("syn") and server.get("syn")):
        return []
    # A SYN that is sent again may ask for less; the answer is to the last one.
    asking, answering = (
        [row["flags"] for row in syns if row["flow"] == number and row["dir"] == way] for way in (0, 1)
    )
    return [
        Handshake(
            ports=frozenset((client["port"], server["port"])),
            mss=tuple(side.get("mss") for side in (client, server)),
            window_scale=all(side.get("wscale") is not None for side in (client, server)),
            sack=all(side.get("sack_permitted") for side in (client, server)),
            time_stamps=all(side.get("timestamps") for side in (client, server)),
            ecn=agreed(asking[-1], answering[-1]) if asking and answering else None,
        )
    ]


def agreed(syn: int, answer: int) -> str | None:
    """The ECN that two SYNs agree on (RFC 3168, 6.1.1; RFC 9768, 3.1.1). None: an answer that no RFC defines."""
    asks, answers = (flags >> _ECN_SHIFT & 0b111 for flags in (syn, answer))
    if asks == 0b111 and answers in (0b010, 0b011, 0b100, 0b110):
        return ACCECN
    if asks in (0b011, 0b111) and answers in (0b001, 0b101):
        return RFC3168
    return NO_ECN if answers in (0b000, 0b111) or asks not in (0b011, 0b111) else None
