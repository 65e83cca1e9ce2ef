"""Legs that begin or end at a gateway: their accounts, and the effect of a delay box between two gateways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.pktlogger_conversation import MSS, Conversation

import pktlogger

NOT_TCP = 2**32 - 1


def test_hosts_that_go_around_the_gateways_are_not_the_tunnel() -> None:
    """Two packets of a tunnel, one of them lost, one back, and three of two hosts that connect without it."""
    sides: list[dict[str, Any]] = [{"address": "10.1.0.1", "port": 5000}, {"address": "10.2.0.2", "port": 5001}]
    flows = {"flows": [{"sides": sides}, {"sides": [side | {"port": side["port"] + 9} for side in sides]}]}
    record = {"fates": ["sent", "loss", "queue", "held"]}
    columns = {
        "direction": pa.array([0, 0, 1, 0, 0, 0], pa.uint8()),
        "fate": pa.array([0, 2, 0, 1, 0, 0], pa.uint8()),
        "flow": pa.array([NOT_TCP, NOT_TCP, NOT_TCP, 0, 0, 1], pa.uint32()),
        "t_arrival_ns": pa.array([10, 20, 30, 40, 50, 60]),
        "t_release_ns": pa.array([17, -1, 37, -1, 99, 99]),
    }
    metadata = {"pktlogger.flows": json.dumps(flows), "pktlogger.record": json.dumps(record)}
    table = pa.table(columns).replace_schema_metadata(metadata)
    around = pktlogger.tunnel(table, [("10.2.0.2", "10.1.0.1")])
    assert (around["packets"], around["lost"]) == (2, {"queue": 1})
    assert set(around["dwell_ns"].values()) == {7}
    assert pktlogger.tunnel(table)["packets"] == 5


def _slow_reader() -> Conversation:
    """The receiver's program reads 2 packets a round trip, and its window shrinks to 2 packets."""
    c, seq = Conversation(), 1
    for number in range(60):
        parts = 8 if number < 4 else 2
        c.send(100 + 21 * number, seq, parts)
        seq += parts * MSS
        window = 8 if number < 3 else 2
        c.ack(110.2 + 21 * number, seq, window=window * MSS)
    return c


def _flights(gap_ms: float) -> Conversation:
    """8 packets in each round trip, one for each acknowledgement, with a window of 60 packets."""
    c = Conversation()
    for number in range(480):
        t = 100 + 20.01 * (number // 8) + number % 8 * gap_ms
        c.send(t, 1 + number * MSS)
        c.ack(t + 10, 1 + (number + 1) * MSS)
    return c


def _same_flight() -> Conversation:
    return _flights(0.3)


def _same_rate() -> Conversation:
    return _flights(2.5)


def _dribble() -> Conversation:
    """A packet every 30 ms."""
    c = Conversation()
    for number in range(60):
        c.send(100 + 30 * number, 1 + number * MSS)
        c.ack(110 + 30 * number, 1 + (number + 1) * MSS)
    return c


@pytest.mark.parametrize(
    ("made", "option", "cause", "names"),
    [(_slow_reader, "", "slow_reader", "disk"), (_slow_reader, "--to-gateway", "gateway", "is a gateway"),
     (_dribble, "", "application", "disk"), (_dribble, "--from-gateway", "gateway_feed", "in front of that gateway"),
     (_same_flight, "", "send_buffer", "tcp_wmem"),
     (_same_flight, "--from-gateway", "gateway_feed", "in front of that gateway"),
     (_same_rate, "", "pacing", "SO_MAX_PACING_RATE"),
     (_same_rate, "--from-gateway", "gateway_feed", "in front of that gateway")],
    ids=["reader", "to a gateway", "program", "from a gateway", "flight", "flight from a gateway", "rate",
         "rate from a gateway"],
)  # fmt: skip
def test_a_leg_names_its_gateway_and_not_a_disk(made: Any, option: str, cause: str, names: str, tmp_path: Path) -> None:
    """A gateway's data wait for the next leg, and a gateway without data waits for the leg before it. Its waits show
    neither a send buffer nor pacing, because data arrive as the leg before delivers them."""
    _, flow = made().analyse(tmp_path, *([option] if option else []))
    verdict = flow["verdict"]
    assert verdict["cause"] == cause, verdict
    assert names in verdict["text"], verdict
    if option:
        assert "disk" not in verdict["text"] and "program" not in verdict["text"], verdict
    if option == "--from-gateway":
        assert not {"send_buffer", "pacing"} & set(flow["limits_ns"]), flow["limits_ns"]
