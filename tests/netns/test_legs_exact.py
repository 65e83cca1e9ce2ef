"""The limits of each leg of a proxy's transfers, compared with what the senders' kernels waited for, in virtual
time."""

from __future__ import annotations

import json
import tomllib
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
from rich.console import Console

from bench.invariants import oracle
from scenarios.plan.document import Document
from scenarios.plan.plan import make_plan
from scenarios.run import runner
from scenarios.virtual import kernel, waits

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]

SCENARIO = """
[scenario]
name = "legs"
[path]
delay = "20ms"
rate = "{rate}"
queue = "1 BDP"
[gateway]
kind = "lft"
model = "{model}"
rate = "{rate}"
[transfer]
{transfer}
[capture]
points = ["snd", "gw1-in", "gw2-out", "rcv"]
"""
EXCHANGES = 'exchanges = 3\nrequest = "2KB"\nresponse = "300KB"'
WAYS = {
    "bulk": ("20Mbit", 'bytes = "4MB"', (".", "server")),
    "responses": ("1Mbit", EXCHANGES, ("reverse", "reverse/server")),
}


def _main_flow(folder: Path) -> dict[str, Any]:
    summary = json.loads((folder / "summary.json").read_text())
    (flow,) = (flow for flow in summary["flows"] if flow["flow"] == summary["main_flow"])
    return dict(flow) | {"names": np.asarray(summary["limit_causes"])}


def _places(file: Path, flow: dict[str, Any], time: str, *numbers: str) -> waits.Places:
    table = parquet.read_table(file)
    t_ns = table[time].to_numpy()
    own = (table["flow"].to_numpy() == flow["flow"]) & (t_ns >= 0)
    return t_ns[own], sum(table[name].to_numpy()[own].astype(np.int64) for name in numbers)


def _compared(records: waits.Records, folder: Path, flow: dict[str, Any]) -> oracle.Comparison:
    table = parquet.read_table(folder / "limits.parquet")
    limits = {name: table[name].to_numpy()[table["flow"].to_numpy() == flow["flow"]] for name in table.column_names}
    sender, receiver = flow["sender"], flow["receiver"]
    own = waits.of_connection(records, ip_address(sender["address"]).packed, sender["port"], receiver["port"])
    own = waits.of_capture(
        own,
        flow["isn"],
        *(
            _places(folder / f"{name}.parquet", flow, *columns)
            for name, *columns in (("acks", "t_received_ns", "ack"), ("segments", "t_sent_ns", "seq", "len"))
        ),
    )
    assert own.size > 10
    return oracle.compare(oracle.account(own, int(limits["t1_ns"][-1])), limits, flow["names"])


@pytest.mark.parametrize("model", ["proxy", "router"])
@pytest.mark.parametrize("way", WAYS)
def test_a_leg_is_limited_by_what_its_kernel_waits_for(way: str, model: str, tmp_path: Path) -> None:
    """The near leg waits for the gateway's buffer, or for the next request. The far leg waits for data from the tunnel,
    which come at the line's rate: neither its send buffer nor its congestion window limits it."""
    rate, transfer, legs = WAYS[way]
    plan = make_plan(Document("legs", tomllib.loads(SCENARIO.format(rate=rate, transfer=transfer, model=model))), 1)
    run = runner.start(plan, tmp_path, virtual_box="auto")
    runner.resume(run, Console(quiet=True), jobs=1, with_waits=True)
    folder = run / "trials" / "0000"
    records = waits.load(folder / waits.FILE)
    assert records is not None
    near, far = (_main_flow(folder / leg) for leg in legs)
    assert near["verdict"]["cause"] == ("gateway" if way == "bulk" else "application")
    assert far["verdict"]["cause"] == "gateway_feed" and far["verdict"]["share"] > 0.99
    assert "disk" not in far["verdict"]["text"]
    for flow, leg in ((near, legs[0]), (far, legs[1])):
        found = _compared(records, folder / leg, flow)
        assert sum(found.wrong_s.values()) <= found.bound_s, f"{leg}: {found.told()}"
