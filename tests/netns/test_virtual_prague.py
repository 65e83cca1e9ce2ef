"""TCP Prague in virtual time: next to CUBIC behind DualPI2 it gets a fair share, and waits in the L4S queue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
from captured_trials import ran

from scenarios.virtual import kernel

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]

RATE_BPS, LINK = 40_000_000, 14  # LINK: bytes of a packet that framing "ip" does not count
SCENARIO = """
[scenario]
name = "prague"
[path]
delay = "10ms"
rate = "40Mbit"
framing = "ip"
ab_aqm = "dualpi2"
[profile]
name = "l4s"
[transfer]
duration = "8s"
second = "cubic"
sample = "20ms"
[capture]
points = ["snd", "box", "rcv"]
"""


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return ran(tmp_path_factory.mktemp("prague"), SCENARIO)[0]


def test_prague_and_accecn_are_what_ran(trial: dict[str, Any]) -> None:
    status = json.loads((Path(trial["path"]) / "status.json").read_text())
    ran = {(row["setting"], row["ran"]) for row in status["asked"] if row["setting"] in ("congestion control", "ECN")}
    assert ran == {("congestion control", "lfp_prague"), ("congestion control", "cubic"), ("ECN", "AccECN")}


def test_neither_flow_gets_more_than_twice_what_the_other_gets(trial: dict[str, Any]) -> None:
    """The windows are 2(1 - 2p')/2p' and 1.68/p', over RTTs of 20 and 35 ms: a share of about 49 %."""
    assert 1 / 3 < trial["metrics"]["flow_share"] < 2 / 3
    assert trial["metrics"]["flows_bps"] > 0.85 * RATE_BPS


def test_its_packets_are_ect_1_and_wait_in_the_short_queue(trial: dict[str, Any]) -> None:
    """Packets with ECT(0) would wait with CUBIC's, about the target of 15 ms."""
    table = parquet.read_table(Path(trial["path"]) / "box.parquet")
    names = ("direction", "t_arrival_ns", "t_queue_exit_ns", "wire_len", "len", "flow")
    rows = {name: table[name].to_numpy() for name in names}
    data = (rows["direction"] == 0) & (rows["len"] > 0) & (rows["t_queue_exit_ns"] >= 0)
    data &= rows["t_arrival_ns"] > rows["t_arrival_ns"][data][0] + 3 * 10**9
    wait_ms = (rows["t_queue_exit_ns"] - rows["t_arrival_ns"] - (rows["wire_len"] - LINK) * 8 * 10**9 // RATE_BPS) / 1e6
    flows = np.bincount(rows["flow"][data]).argsort()[-2:]
    short, long = sorted(float(np.median(wait_ms[data & (rows["flow"] == flow)])) for flow in flows)
    assert short < 1 and 10 < long < 20
    assert trial["metrics"]["rtt_median_ns"] < 22e6


def test_alpha_is_reported(trial: dict[str, Any]) -> None:
    samples = parquet.read_table(Path(trial["path"]) / "tcp_info.parquet", columns=["cc_0"])["cc_0"].to_numpy()
    alpha = samples[len(samples) // 2 :] / 65536
    assert alpha.min() > 0 and alpha.max() < 0.5
