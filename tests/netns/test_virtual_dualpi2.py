"""DualPI2 in virtual time: DCTCP and CUBIC share a line, each with the delay of its own queue."""

from __future__ import annotations

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
name = "l4s"
[path]
delay = "10ms"
rate = "40Mbit"
framing = "ip"
ab_aqm = "dualpi2:ect0=on"
[transfer]
duration = "12s"
congestion = "dctcp"
second = "cubic"
[capture]
points = ["snd", "box", "rcv"]
"""


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return ran(tmp_path_factory.mktemp("l4s"), SCENARIO)[0]


def test_neither_flow_gets_more_than_twice_what_the_other_gets(trial: dict[str, Any]) -> None:
    """The windows are 1/p' and 1.68/p' (RFC 9332, section 2.1), over RTTs of 20 and 35 ms: a share of 51 %."""
    assert 1 / 3 < trial["metrics"]["flow_share"] < 2 / 3


def test_each_queue_has_its_own_delay(trial: dict[str, Any]) -> None:
    """From 4 s on, L4S packets wait for the packet on the line and for those that came with them, in the median at most
    the step of 1 ms. Classic packets wait about the target of 15 ms."""
    table = parquet.read_table(Path(trial["path"]) / "box.parquet")
    rows = {
        name: table[name].to_numpy()
        for name in ("direction", "t_arrival_ns", "t_queue_exit_ns", "wire_len", "len", "flow", "edits")
    }
    data = (rows["direction"] == 0) & (rows["len"] > 0) & (rows["t_queue_exit_ns"] >= 0)
    late = rows["t_arrival_ns"] > rows["t_arrival_ns"][data][0] + 4 * 10**9
    wait_ms = (rows["t_queue_exit_ns"] - rows["t_arrival_ns"] - (rows["wire_len"] - LINK) * 8 * 10**9 // RATE_BPS) / 1e6
    flows = np.bincount(rows["flow"][data]).argsort()[-2:]
    marked = [int((rows["edits"][data & (rows["flow"] == flow)] & 1).sum()) for flow in flows]
    dctcp, cubic = flows[int(np.argmax(marked))], flows[int(np.argmin(marked))]
    assert min(marked) == 0 < max(marked), "CUBIC runs without ECN"
    assert np.median(wait_ms[data & late & (rows["flow"] == dctcp)]) < 1
    assert 10 < np.median(wait_ms[data & late & (rows["flow"] == cubic)]) < 20
