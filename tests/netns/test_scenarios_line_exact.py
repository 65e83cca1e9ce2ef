"""Rates in verdicts against the line that the trial had, in virtual time: with the box's record, with netem, which
keeps none, and by the captures alone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
from captured_trials import ran

from netcommon import binaries
from scenarios.virtual import kernel

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]

SCENARIO = """
[scenario]
name = "line"
[path]
delay = "20ms"
rate = "60Mbit"
queue = "1 BDP"
[transfer]
duration = "4s"
[capture]
points = ["snd", "rcv", "box"]
[sweep]
"scenario.case" = ["window", "v6", "jitter", "bus", "slower", "calm", "netem"]
[case.window]
transfer = { window = "64KB" }
[case.v6]
transfer = { family = "ipv6" }
path = { ab_loss = "0.1%", framing = "ethernet" }
profile = { sysctl = "net.ipv4.tcp_timestamps=0" }
[case.jitter]
path = { rate = "100Mbit", jitter = "normal:2ms", ab_loss = "0.1%" }
[case.bus]
path = { drain_rate = "35Mbit", drain_buffer = "100KB", ab_loss = "0.1%" }
[case.slower]
path = { change = "2s rate=30Mbit" }
[case.calm]
path = { jitter = "normal:3ms" }
transfer = { window = "64KB" }
[case.netem]
transfer = { window = "64KB" }
capture = { points = ["snd", "rcv"] }
"""
CARRIES = {  # Mbit/s of payload: the slowest stage's rate without the headers of full segments
    "window": 60 * 1448 / 1500,
    "v6": 60 * 1440 / 1538,
    "jitter": 100 * 1448 / 1500,
    "bus": 35 * 1448 / 1500,
    "calm": 60 * 1448 / 1500,
    "netem": 60 * 1448 / 1500,
}


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("line")
    return {trial["params"]["case"]: Path(trial["path"]) for trial in ran(folder, SCENARIO)}


def verdict(folder: Path) -> dict[str, Any]:
    summary = json.loads((folder / "summary.json").read_text())
    found: dict[str, Any] = summary["flows"][summary["main_flow"]]["verdict"]
    return found


def test_what_is_possible_is_what_the_line_carries(trials: dict[str, Path]) -> None:
    for case, mbit in CARRIES.items():
        found = verdict(trials[case])
        assert found["possible_bps"] in (None, pytest.approx(mbit * 1e6, rel=1e-6)), (case, found)
        assert "at least" not in found["text"], (case, found)
    for case in ("window", "v6", "jitter", "calm", "netem"):
        assert verdict(trials[case])["possible_bps"], case


def test_a_line_that_changes_is_said_with_both_rates(trials: dict[str, Path]) -> None:
    found = verdict(trials["slower"])
    assert found["cause"] == "path_rate", found
    assert "The line carries between 29 Mbit/s and 57.9 Mbit/s of payload" in found["text"]


def test_the_record_has_the_line(trials: dict[str, Path]) -> None:
    folder = trials["slower"]
    table = parquet.read_schema(folder / "box.parquet").metadata
    line = json.loads(table[b"pktlogger.record"])["line"]
    began = json.loads((folder / "delay.json").read_text())["clock"]["realtime_ns"]
    assert [(step["rate_bps"], step["overhead_bytes"]) for step in line["ab"]] == [(60_000_000, 0), (30_000_000, 0)]
    first, second = (step["t_ns"] - began for step in line["ab"])
    assert first == 0 and 2 * 10**9 <= second < 2 * 10**9 + 10**6, "when the box was told, a millisecond later at most"
    assert json.loads((folder / "line.json").read_text())["ab"] == line["ab"]


def test_captures_alone_say_at_least_and_never_more_than_the_line(trials: dict[str, Path], tmp_path: Path) -> None:
    for case, mbit in CARRIES.items():
        files = [str(trials[case] / "capture" / f"{point}.pcapng") for point in ("snd", "rcv")]
        argv = [str(binaries.find("pktlogger")), "analyse", "--sender", files[0], "--receiver", files[1]]
        argv += ["--clock", "same", "-o", str(tmp_path / case)]
        subprocess.run(argv, check=True, capture_output=True, timeout=60)
        summary = json.loads((tmp_path / case / "summary.json").read_text())
        found = summary["flows"][summary["main_flow"]]["verdict"]
        if found["possible_bps"]:
            assert found["possible_bps"] <= mbit * 1e6 * 1.002, (case, found)
            assert "at least" in found["text"] or "about" in found["text"], (case, found)


def test_the_paths_rate_is_the_limit_only_while_its_queue_is_not_empty(trials: dict[str, Path]) -> None:
    """The record shows when the bottleneck had packets: from each arrival until its exit or the next arrival."""
    for case in ("window", "jitter", "calm", "slower"):
        folder = trials[case]
        summary = json.loads((folder / "summary.json").read_text())
        limits, box = (parquet.read_table(folder / f"{name}.parquet") for name in ("limits", "box"))
        cause = summary["limit_causes"].index("path_rate")
        own = limits["cause"].to_numpy() == cause
        t0, t1 = (limits[name].to_numpy()[own] for name in ("t0_ns", "t1_ns"))
        there = (box["direction"].to_numpy() == 0) & (box["t_queue_exit_ns"].to_numpy() >= 0)
        came, left = (np.sort(box[name].to_numpy()[there]) for name in ("t_arrival_ns", "t_queue_exit_ns"))
        waiting = np.concatenate(([0], np.cumsum(np.maximum(np.minimum(came[1:], left[:-1]) - came[:-1], 0))))
        busy = np.interp(t1, came, waiting) - np.interp(t0, came, waiting)
        assert busy.sum() >= 0.95 * (t1 - t0).sum(), (case, busy.sum() / 1e9, (t1 - t0).sum() / 1e9)
        if case == "calm":
            assert not own.any()
