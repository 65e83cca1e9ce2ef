"""Two connections that carry the same bytes through a relay: how long bytes stay in it, and what limits the whole."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from pktlogger_conversation import MS, MSS, Conversation, at

import pktlogger


def relayed(tmp_path: Path, held_ms: float) -> pktlogger.Through:
    """Six parts, one every 40 ms. The relay has each 10 ms after it was sent, and sends it on `held_ms` later. Its
    window has room for one part, so the sender always waits for it."""
    near, far = Conversation(), Conversation()
    far.a, far.b = ("10.0.1.1", 50000), ("10.0.1.2", 5010)
    for side in (far.sender, far.receiver):
        side[:] = [
            replace(packet, src=far.a if packet.src[1] == 40000 else far.b,
                    dst=far.b if packet.src[1] == 40000 else far.a)
            for packet in side
        ]  # fmt: skip
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


def test_how_long_bytes_stay_in_a_relay(tmp_path: Path) -> None:
    found = relayed(tmp_path, 3)
    rows = found.passes.to_pylist()
    assert [row["seq"] for row in rows] == [1 + part * MSS for part in range(6)]
    assert {row["dwell_ns"] for row in rows} == {3 * MS}
    assert [row["t_in_ns"] for row in rows[:2]] == [at(40), at(80)]
    (flow,) = found.flows
    assert flow["dwell_ns"] == {"min": 3 * MS, "p50": 3 * MS, "p95": 3 * MS, "max": 3 * MS}
    assert (flow["held_bytes_max"], flow["never_left_bytes"]) == (0, 0)


def test_a_sender_that_waits_for_the_relay_is_limited_by_it(tmp_path: Path) -> None:
    """The far connection has nothing to send meanwhile, so neither path is the limit."""
    found = relayed(tmp_path, 3)
    spans = found.limits.to_pylist()
    assert all(one["t1_ns"] == two["t0_ns"] for one, two in pairwise(spans))
    assert spans[0]["t0_ns"] == at(30) and spans[-1]["t1_ns"] == at(230)
    assert found.limit_causes[-1] == "gateway"
    (flow,) = found.flows
    assert flow["limits_ns"]["gateway"] > 100 * MS and sum(flow["limits_ns"].values()) == 200 * MS


def test_bytes_that_never_left_are_counted(tmp_path: Path) -> None:
    near, far = Conversation(), Conversation()
    near.send(30, 1, 5)
    near.ack(40, 5001)
    far.send(43, 1, 3)
    far.ack(53, 3001)
    analyses = []
    for name, path in (("near", near), ("far", far)):
        (tmp_path / name).mkdir()
        analyses.append(path.analyse(tmp_path / name)[0])
    (flow,) = pktlogger.through(*analyses).flows
    assert flow["never_left_bytes"] == 2 * MSS
