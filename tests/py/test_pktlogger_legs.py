"""pktlogger.legs: what a delay box between two gateways did to their packets."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

import pktlogger

NOT_TCP = 2**32 - 1


def test_hosts_that_go_around_the_gateways_are_not_the_tunnel() -> None:
    """Two packets of a tunnel, one of them lost, one back, and three of two hosts that connect without it."""
    sides: list[dict[str, Any]] = [{"address": "10.1.0.1", "port": 5000}, {"address": "10.2.0.2", "port": 5001}]
    flows = {"flows": [{"sides": sides}, {"sides": [side | {"port": side["port"] + 9} for side in sides]}]}
    record = {"fates": ["sent", "loss", "queue", "held"]}
    columns = {
        "direction": pa.array([0, 0, 1, 0, 0, 0], pa.uint8()), "fate": pa.array([0, 2, 0, 1, 0, 0], pa.uint8()),
        "flow": pa.array([NOT_TCP, NOT_TCP, NOT_TCP, 0, 0, 1], pa.uint32()),
        "t_arrival_ns": pa.array([10, 20, 30, 40, 50, 60]), "t_release_ns": pa.array([17, -1, 37, -1, 99, 99]),
    }  # fmt: skip
    metadata = {"pktlogger.flows": json.dumps(flows), "pktlogger.record": json.dumps(record)}
    table = pa.table(columns).replace_schema_metadata(metadata)
    around = pktlogger.tunnel(table, [("10.2.0.2", "10.1.0.1")])
    assert (around["packets"], around["lost"]) == (2, {"queue": 1})
    assert set(around["dwell_ns"].values()) == {7}
    assert pktlogger.tunnel(table)["packets"] == 5
