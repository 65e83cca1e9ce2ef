"""A port scan through gateways, in virtual time: other clients connect as fast as without it.

It is smaller than the bench lft.scan, and so is the limit of half-open connections, which the scan alone would use
up."""

from __future__ import annotations

import pytest
from support.virtual import in_virtual_time, virtual

from bench.scan import beside

pytestmark = [pytest.mark.netns, *virtual]

CLOSED, SILENT, AT_ONCE, CLIENTS, HALF_OPEN = 500, 120, 50, 20, 64
MOST = 1.2


def test_clients_connect_as_fast_beside_a_port_scan() -> None:
    found = in_virtual_time(
        beside.measure, closed=CLOSED, silent=SILENT, at_once=AT_ONCE, clients=CLIENTS, half_open=HALF_OPEN
    )
    print(found)
    alone, near = found["alone"], found["near"]
    for figure in ("median_ms", "p95_ms", "largest_ms"):
        assert found["beside"][figure] <= MOST * alone[figure], figure
    assert (found["scan"]["refused"], found["scan"]["silent"], found["scan"]["wrong"]) == (CLOSED, SILENT, 0)
    assert near["evicted"] >= SILENT - HALF_OPEN, "half-open connections did not fill all places"
    assert near["accepted"] == alone["connections"] + found["beside"]["connections"], "some went around the tunnel"
