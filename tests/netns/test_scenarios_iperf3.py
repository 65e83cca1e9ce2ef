"""`tool = "iperf3"` in a scenario: its trials have the same files as rttcp's, and are judged by the same rules."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from lfp_process import Lfp

pytestmark = [pytest.mark.netns, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

SCENARIO = """\
[scenario]
name = "by-iperf3"
[path]
delay = "5ms"
rate = "20Mbit"
queue = "200KB"
[transfer]
tool = "iperf3"
duration = "2s"
length = "64KB"
[run]
seed = 1
"""


def test_a_trial_by_iperf3(tmp_path: Path) -> None:
    scenario = tmp_path / "by-iperf3.toml"
    scenario.write_text(SCENARIO)
    lfp = Lfp("run", str(scenario), "--runs-dir", str(tmp_path / "runs"))
    assert lfp.finish() == 0, lfp.err
    (run_dir,) = (tmp_path / "runs").iterdir()
    (row,) = parquet.read_table(run_dir / "results.parquet").to_pylist()
    assert (row["state"], row["tool"]) == ("done", "iperf3")
    assert 0 < row["short_term_bps"] <= 20e6, "no more than the line, however busy the machine"
    transfer = json.loads((run_dir / "trials" / "0000" / "transfer.json").read_text())
    assert transfer["receiver"]["bytes"] == transfer["summary"]["bytes"] > 0
    assert row["cpu_sender_ns"] > 0
    samples = parquet.read_table(run_dir / "trials" / "0000" / "tcp_info.parquet").to_pydict()
    assert set(samples["remote_port"]) == {5010} and len(set(samples["local_port"])) == 1, "the data connection alone"
    assert row["rtt_min_ns"] >= 10e6, "the path's, by the sampled kernel"


def test_a_duration_that_iperf3_cannot_do_is_wrong_usage(tmp_path: Path) -> None:
    scenario = tmp_path / "by-iperf3.toml"
    scenario.write_text(SCENARIO.replace('"2s"', '"1500ms"'))
    lfp = Lfp("run", str(scenario), "--runs-dir", str(tmp_path / "runs"))
    assert lfp.finish() == 2
    assert "whole seconds" in lfp.err
