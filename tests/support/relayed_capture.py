"""Captures and analyses of two connections that carry the same bytes through a relay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

import pktlogger
from support.pktlogger_conversation import MSS, Conversation


def relayed(tmp_path: Path, held_ms: float) -> pktlogger.Through:
    """Six parts, one every 40 ms. The relay gets each part 10 ms after it was sent, and forwards it `held_ms` later.
    The relay's window has room for one part, so the sender always waits for the relay."""
    near, far = Conversation(), Conversation()
    far.a, far.b = ("10.0.1.1", 50000), ("10.0.1.2", 5010)
    for side in (far.sender, far.receiver):
        side[:] = [
            replace(
                packet, src=far.a if packet.src[1] == 40000 else far.b, dst=far.b if packet.src[1] == 40000 else far.a
            )
            for packet in side
        ]
    for part in range(6):
        near.send(30 + 40 * part, 1 + part * MSS)
        near.ack(60 + 40 * part, 1 + (part + 1) * MSS, window=MSS)
        far.send(40 + 40 * part + held_ms, 1 + part * MSS)
        far.ack(50 + 40 * part + held_ms, 1 + (part + 1) * MSS)
    folders = [tmp_path / name for name in ("near", "far")]
    analyses = []
    for folder, path in zip(folders, (near, far), strict=True):
        folder.mkdir()
        analyses.append(path.analyse(folder)[0])
    return pktlogger.through(*analyses)


CAUSES = ["application", "receiver_window", "send_buffer", "pacing", "path_rate", "zero_window"]


def leg(
    segments: list[tuple[int, int, int, int]],
    limits: list[tuple[int, int, str]],
    acks: Sequence[tuple[int, ...]] = (),
) -> pktlogger.Analysis:
    """An analysis of one connection. Segments: first byte, length, times of sending and arrival (-1: lost). ACKs: time
    of arrival, number, and the octets of data that came with it, which tables of earlier versions do not have."""
    sent, end = set[int](), {"address": "10.0.0.1", "port": 5010}
    rows: list[dict[str, Any]] = []
    for seq, length, sent_ns, received_ns in segments:
        copy = 1 + (seq in sent)
        sent.add(seq)
        rows.append({"flow": 0, "seq": seq, "len": length, "t_sent_ns": sent_ns, "t_received_ns": received_ns,
                     "transmission": copy})  # fmt: skip
    spans = [{"flow": 0, "t0_ns": begin, "t1_ns": stop, "cause": CAUSES.index(cause)} for begin, stop, cause in limits]
    told = {"limit_causes": CAUSES, "flows": [{"flow": 0, "sender": end, "receiver": end}]}
    none = pa.table({})
    segments, limits = pa.Table.from_pylist(rows), pa.Table.from_pylist(spans)
    names = ("t_received_ns", "ack", "len")
    back = pa.Table.from_pylist([{"flow": 0} | dict(zip(names, one, strict=False)) for one in acks])
    return pktlogger.Analysis(segments, back, none, told, limits, none, none, none)
