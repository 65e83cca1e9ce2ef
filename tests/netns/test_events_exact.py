"""[[event]] and changes of MTU, order and queue management in virtual time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from support.virtual import virtual

from lfp import cli

pytestmark = [pytest.mark.netns, *virtual]

MS = 10**6
PATH = """
[scenario]
name = "events"
[path]
delay = "10ms"
rate = "20Mbit"
queue = "100KB"
[transfer]
duration = "6s"
sample = "100ms"
interval = "50ms"
"""
LFT = """
[gateway]
kind = "lft"
rate = "1 line"
"""


# A gateway that lets packets pass while it runs, so that connections outlast its restart.
GATE = '''
[gateway]
kind = "command"
near = """sh -c 'at=/proc/sys/net/ipv4/ip_forward; echo 1 >$$at; trap "echo 0 >$$at; exit" TERM; echo ready;
    sleep 1000 & wait'"""
far = "sleep 1000"
'''


def measured(folder: Path, text: str = "", *options: str, status: int = 0) -> tuple[dict[str, Any], Path]:
    """The row of a scenario's only trial, and its folder."""
    folder.mkdir(exist_ok=True)
    (folder / "events.toml").write_text(PATH + text)
    run = ["run", str(folder / "events.toml"), "--time", "virtual", "--box", "kernel", "--seed", "1", *options]
    assert cli.run([*run, "--runs-dir", str(folder / "runs")]) == status
    (trial,) = (folder / "runs").glob("*/trials/0000")
    (row,) = parquet.read_table(trial.parents[1] / "results.parquet").to_pylist()
    return dict(row), trial


def test_a_tunnel_goes_on_where_its_near_end_gets_another_address(tmp_path: Path) -> None:
    row, _ = measured(tmp_path, LFT + '[[event]]\nat = "3s"\nrebind = "gateway.near"\n')
    assert row["valid"], row["reasons"]
    assert row["outages"] == 1 and row["recovery_ns"] < 1000 * MS
    assert row["short_term_bps"] > 14e6


def test_connections_outlast_the_restart_of_a_gateway_without_state(tmp_path: Path) -> None:
    """TCP's time-out doubles, so the transfer rests at most as long again as the gateway was away."""
    event = '[[event]]\nat = "2500ms"\nrestart = "gateway.near"\ndown = "500ms"\n'
    row, _ = measured(tmp_path, GATE + event)
    assert row["valid"], row["reasons"]
    assert row["events"] == "2.5s restart near 500ms" and row["outages"] == 1
    assert 0 < row["recovery_ns"] <= 600 * MS and row["retransmits"] > 0
    assert 0.7 * 19.3e6 < row["short_term_bps"] < 0.93 * 19.3e6


def test_a_gateway_that_is_killed_ends_its_connections(tmp_path: Path) -> None:
    row, _ = measured(tmp_path, LFT + '[[event]]\nat = "3s"\nkill = "gateway.far"\n', status=1)
    assert row["state"] == "failed"


def test_a_line_with_a_smaller_mtu(tmp_path: Path) -> None:
    """With an MTU of 1300, 1248 of 1300 octets are payload, instead of 1448 of 1500: the goodput falls by 0.6 %."""
    points = "[capture]\npoints = ['snd', 'box', 'rcv']\n"
    row, _ = measured(tmp_path / "same", points, "--box", "comet")
    other, trial = measured(tmp_path / "other", points, "--box", "comet", "--set", 'path.change="2s mtu=1300"')
    assert other["valid"], other["reasons"]
    assert 0.97 < other["short_term_bps"] / row["short_term_bps"] < 1
    record = parquet.read_table(trial / "box.parquet", columns=["t_arrival_ns", "wire_len"]).to_pydict()
    began_ns = min(record["t_arrival_ns"])
    late = [size for t_ns, size in zip(*record.values(), strict=True) if t_ns - began_ns > 3 * 10**9]
    assert max(late) == 1314 and max(record["wire_len"]) == 1514


def test_queue_management_and_order_change(tmp_path: Path) -> None:
    """CoDel keeps the queue at 5 ms, where drop-tail lets it grow to 40 ms."""
    still, _ = measured(tmp_path / "still")
    codel, _ = measured(tmp_path / "codel", "", "--set", 'path.change="1s aqm=codel reorder=1% reorder_by=2ms"')
    assert codel["valid"], codel["reasons"]
    assert codel["rtt_median_ns"] < 32 * MS < 40 * MS < still["rtt_median_ns"]


def test_a_tunnel_finds_a_smaller_mtu_of_its_path_within_two_seconds(tmp_path: Path) -> None:
    """Frames of the size in use vanish from 2 s on; time-outs and probes of that size took 3.2 s."""
    row, trial = measured(tmp_path, LFT, "--set", "path.change=2s mtu=1280")
    assert row["valid"], row["reasons"]
    receiver = json.loads((trial / "transfer.json").read_text())["receiver"]
    silent = longest = 0
    for begin_ns, end_ns, octets in receiver["intervals"]:
        silent = 0 if octets else silent + end_ns - begin_ns
        longest = max(longest, silent)
    assert 1000 * MS <= longest <= 2000 * MS
