"""`pktlogger analyse` on traffic of many connections: fates of every part, and what has to hold of any result."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pktlogger_conversation import SPURIOUS, Conversation, at, join
from pktlogger_frames import write_pcapng
from pktlogger_traffic import Traffic, make

import pktlogger


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Traffic, pktlogger.Analysis]:
    """Traffic from a seed that is printed, and its analysis."""
    seed, folder = random.randrange(2**32), tmp_path_factory.mktemp("traffic")
    print(f"seed {seed}")
    return analyse(make(seed), folder)


def analyse(traffic: Traffic, folder: Path) -> tuple[Traffic, pktlogger.Analysis]:
    write_pcapng(folder / "s.pcapng", traffic.sender)
    write_pcapng(folder / "r.pcapng", traffic.receiver)
    done: subprocess.CompletedProcess[str] = join(folder, "analyse")
    assert done.returncode == 0, done.stderr
    return traffic, pktlogger.read_analysis(folder / "out")


def rows(table: Any, flow: int) -> dict[str, NDArray[np.int64]]:
    own = table["flow"].to_numpy() == flow
    return {name: table[name].to_numpy()[own].astype(np.int64) for name in table.column_names}


def test_every_fate_is_found_where_copies_can_be_told_apart(analysed: tuple[Traffic, pktlogger.Analysis]) -> None:
    """Identifications tell copies apart; without them the copies of a segment can be confused."""
    traffic, found = analysed
    for flow in found.summary["flows"]:
        port, got = flow["sender"]["port"], rows(found.segments, flow["flow"])
        sent, arrived = np.asarray(traffic.fates[port]).T
        assert (got["t_sent_ns"] == sent).all(), port
        assert flow["segments"] == sent.size and flow["unresolved"] == 0
        if port in traffic.told_apart:
            assert (got["t_received_ns"] == arrived).all(), port
            assert flow["lost"] == np.count_nonzero(arrived < 0)


def test_a_flows_rows_are_in_order_and_its_sums_are_those_of_its_rows(
    analysed: tuple[Traffic, pktlogger.Analysis],
) -> None:
    _, found = analysed
    assert len(found.summary["flows"]) == 8
    for flow in found.summary["flows"]:
        segments, acks = rows(found.segments, flow["flow"]), rows(found.acks, flow["flow"])
        assert (np.diff(segments["sender_frame"]) >= 0).all() and (np.diff(acks["t_sent_ns"]) >= 0).all()
        again = segments["transmission"] > 1
        assert (segments["kind"][~again] == 0).all() and (segments["kind"][again] > 0).all()
        assert flow["bytes"] == segments["len"][~again].sum()
        assert (flow["retransmitted"], flow["spurious"]) == (again.sum(), (segments["kind"] == SPURIOUS).sum())
        arrived = segments["t_received_ns"] >= 0
        assert (segments["delay_ns"][arrived] == (segments["t_received_ns"] - segments["t_sent_ns"])[arrived]).all()
        assert flow["min_delay_ns"] == segments["delay_ns"][arrived].min()
        assert flow["lost"] + flow["in_flight_at_end"] == (~arrived).sum()


def test_no_round_trip_is_longer_than_the_path_whatever_was_lost(analysed: tuple[Traffic, pktlogger.Analysis]) -> None:
    """An acknowledgement that a hole held back, or that came for a repair, is no round trip (RFC 6298, section 3)."""
    traffic, found = analysed
    for flow in found.summary["flows"]:
        least, most = traffic.round_trips[flow["sender"]["port"]]
        rtt_ns = rows(found.rates, flow["flow"])["rtt_ns"]
        assert least <= flow["min_rtt_ns"] <= flow["max_rtt_ns"] <= most, flow["sender"]["port"]
        assert rtt_ns.max() <= most and rtt_ns[rtt_ns >= 0].min() >= least


def test_a_copy_within_the_horizon_belongs_to_its_segment_and_one_beyond_it_is_spurious(tmp_path: Path) -> None:
    """Bytes 1 to 1000 are lost once, repaired, and sent again 1 s and 6 s after that; others go on in between."""
    path = Conversation()
    path.send(30, 1, 1, [])
    path.send(330, 1, 1)
    path.ack(340, 1001)
    path.send(1350, 1, 1)
    for second in range(1, 13):
        seq = 1001 + (second - 1) * 1000
        path.send(350 + second * 500 + 100, seq, 1)
        path.ack(360 + second * 500 + 100, seq + 1000)
    path.send(6700, 1, 1)
    found, flow = path.analyse(tmp_path)
    copies = [row for row in found.segments.to_pylist() if row["seq"] == 1]
    assert [row["t_received_ns"] for row in copies] == [-1, at(340), at(1360), at(6710)]
    assert [row["transmission"] for row in copies] == [1, 2, 3, 2]
    assert [row["kind"] for row in copies][2:] == [SPURIOUS, SPURIOUS]
    assert (flow["lost"], flow["unresolved"], flow["acked_unseen_bytes"]) == (1, 0, 0)
