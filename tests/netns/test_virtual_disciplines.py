"""Queue disciplines in virtual time, packet by packet: for a policer and for the step marking of data centres, the
fates and marks of the box's record equal those that the test computes from arrivals and exits."""

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

RATE_BPS, BURST, STEP = 20_000_000, 50_000, 20
LINK = 14  # bytes of a packet that framing "ip" does not count
SCENARIO = f"""
[scenario]
name = "disciplines"
[path]
delay = "10ms"
framing = "ip"
ab_aqm = "policer:rate={RATE_BPS}bit,burst={BURST}"
[transfer]
duration = "4s"
[capture]
points = ["snd", "box", "rcv"]
[case.marks.path]
ab_aqm = "policer:rate={RATE_BPS}bit,burst={BURST},ecn=on"
[case.marks.profile]
sysctl = "net.ipv4.tcp_ecn=1"
[case.drops.transfer]
congestion = "cubic"
[case.step.path]
ab_aqm = "step:packets={STEP}"
rate = "50Mbit"
queue = "2MB"
[case.step.transfer]
congestion = "dctcp"
[case.acks.path]
ab_aqm = "none"
ab_rate = "20Mbit"
ab_queue = "100KB"
ba_rate = "100Kbit"
ba_aqm = "fq_codel:target=1s,interval=10s"
[case.filtered.path]
ab_aqm = "none"
ab_rate = "20Mbit"
ab_queue = "100KB"
ba_rate = "100Kbit"
ba_aqm = "fq_codel:target=1s,interval=10s,ack_filter=on"
[sweep]
"scenario.case" = ["drops", "marks", "step", "acks", "filtered"]
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return {line["params"]["case"]: line for line in ran(tmp_path_factory.mktemp("disciplines"), SCENARIO)}


def arrivals(folder: str) -> tuple[list[str], dict[str, Any]]:
    """The names of fates, and the columns of what came in from the sender, in order."""
    table = parquet.read_table(Path(folder) / "box.parquet")
    fates = json.loads(table.schema.metadata[b"pktlogger.record"])["fates"]
    names = ("direction", "number", "t_arrival_ns", "t_queue_exit_ns", "wire_len", "fate", "edits")
    rows = {name: table[name].to_numpy() for name in names}
    own = np.flatnonzero(rows["direction"] == 0)
    own = own[np.argsort(rows["number"][own])]
    return fates, {name: values[own] for name, values in rows.items()}


def over(rows: dict[str, Any]) -> list[bool]:
    """For each packet, whether a bucket that begins full has too few tokens: in bits times 1e9, without rounding."""
    depth = BURST * 8 * 10**9
    tokens, last_ns, found = depth, 0, []
    for t_ns, length in zip(rows["t_arrival_ns"].tolist(), rows["wire_len"].tolist(), strict=True):
        tokens = min(depth, tokens + (t_ns - last_ns) * RATE_BPS)
        last_ns, need = t_ns, (length - LINK) * 8 * 10**9
        found.append(need > tokens)
        tokens -= 0 if found[-1] else need
    return found


@pytest.mark.parametrize("case", ["drops", "marks"])
def test_every_packet_has_the_fate_of_a_bucket(shown: dict[str, dict[str, Any]], case: str) -> None:
    fates, rows = arrivals(shown[case]["path"])
    dropped = rows["fate"] == fates.index("policer")
    hit = dropped | (rows["edits"] & 1 == 1)
    assert hit.tolist() == over(rows)
    assert hit.sum() > 50 and bool(dropped.sum() > 50) == (case == "drops")


def test_a_packet_that_finds_the_step_is_marked(shown: dict[str, dict[str, Any]]) -> None:
    """At the bottleneck are the packets that came before and whose last bit has not left yet. A packet without ECT is
    dropped instead."""
    fates, rows = arrivals(shown["step"]["path"])
    let_in = rows["fate"] == fates.index("sent")
    exits = rows["t_queue_exit_ns"][let_in]
    assert (np.diff(exits) >= 0).all(), "one queue"
    before = np.cumsum(let_in) - let_in
    found = before - np.searchsorted(exits, rows["t_arrival_ns"], side="right")
    dropped = rows["fate"] == fates.index("aqm")
    hit = dropped | (rows["edits"] & 1 == 1)
    assert hit.tolist() == (found >= STEP).tolist()
    assert (let_in | dropped).all() and 50 < hit.sum() < hit.size / 2


def test_losses_are_the_policers(shown: dict[str, dict[str, Any]]) -> None:
    metrics = shown["drops"]["metrics"]
    assert metrics["lost_policer"] > 50
    assert metrics["lost_queue"] == metrics["lost_chance"] == metrics["lost_unknown"] == 0
    assert shown["marks"]["metrics"]["ce_marked"] > 50
    assert metrics["short_term_bps"] < RATE_BPS + BURST * 8 / 4


def test_replaced_acknowledgements_are_dropped_and_no_others(shown: dict[str, dict[str, Any]]) -> None:
    """A reverse direction of 100 Kbit/s carries 240 acknowledgements a second, a third of those that 20 Mbit/s cause.
    Without the filter they wait in its queue, which CoDel leaves alone here, and slow the transfer down."""
    for case in ("acks", "filtered"):
        table = parquet.read_table(Path(shown[case]["path"]) / "box.parquet")
        fates = json.loads(table.schema.metadata[b"pktlogger.record"])["fates"]
        rows = {name: table[name].to_numpy() for name in ("direction", "flow", "ack", "len", "fate", "number")}
        back = rows["direction"] == 1
        dropped = back & (rows["fate"] == fates.index("aqm"))
        assert bool(dropped.sum() > 100) == (case == "filtered")
        assert (rows["len"][dropped] == 0).all()
        stays = back & ~dropped
        for row in np.flatnonzero(dropped):
            later = stays & (rows["flow"] == rows["flow"][row]) & (rows["number"] > rows["number"][row])
            assert rows["ack"][later].max(initial=0) > rows["ack"][row]
    slow, fast = (shown[case]["metrics"]["short_term_bps"] for case in ("acks", "filtered"))
    assert fast > 1.2 * slow
