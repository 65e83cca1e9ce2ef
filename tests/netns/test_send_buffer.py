"""A long path behind the send buffer that Linux gives by default: the buffer limits, and never the application."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.virtual import virtual
from support.witness import Witness

import pktlogger

pytestmark = pytest.mark.netns

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = """
[scenario]
name = "buffer"
[path]
delay = "100ms"
rate = "1Gbit"
queue = "12MB"
[transfer]
duration = "4s"
tool = "{tool}"
[profile]
sysctl = "net.ipv4.tcp_wmem=4096 16384 1048576"
[capture]
points = ["snd", "rcv"]
"""


def limits(folder: Path, tool: str, time: str) -> tuple[dict[str, Any], pktlogger.Analysis]:
    """Shares of the time of one trial, and its analysis."""
    (folder / "buffer.toml").write_text(SCENARIO.format(tool=tool))
    lfp = [sys.executable, "-m", "lfp"]
    argv = [*lfp, "run", str(folder / "buffer.toml"), "--time", time, "--seed", "1", "--runs-dir", str(folder / "runs")]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=240)
    (run,) = (folder / "runs").iterdir()  # on a busy machine the trial may not be valid
    shown = subprocess.run([*lfp, "show", str(run), "--json"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    (line,) = shown.stdout.splitlines()
    trial = json.loads(line)
    assert trial["state"] == "done", done.stdout + done.stderr
    return trial["metrics"], pktlogger.read_analysis(trial["path"])


@pytest.mark.parametrize("tool", ["rttcp", "iperf3"])
def test_in_real_time_the_application_is_not_the_limit(tmp_path: Path, tool: str) -> None:
    """Both tools always have data from their first data octet on, so the application limits only while their process
    waits for a processor. The witness vouches for 99 % of the time, which leaves 1 % of the 4 s."""
    with Witness(tolerates_ms=1) as witness:
        _, found = limits(tmp_path, tool, "real")
    names, flow = found.summary["limit_causes"], found.summary["main_flow"]
    assert found.summary["flows"][flow]["always_data"]
    rows = [row for row in found.limits.to_pylist() if row["flow"] == flow]
    sent, late_ns = 0, 0
    for row in rows:  # spans, not packets
        if names[row["cause"]] == "application" and sent >= 32768:
            late_ns += row["t1_ns"] - row["t0_ns"]
        sent += row["bytes"]
    assert sent > 1_000_000
    witness.at_most(late_ns / 1e6, 40, "ms", "limited by the application")


@pytest.mark.parametrize("tool", [pytest.param(name, marks=virtual) for name in ("rttcp", "iperf3")])
def test_in_virtual_time_the_send_buffer_is_the_limit(tmp_path: Path, tool: str) -> None:
    """From ten segments on, slow start takes seven of the 20 round trips to fill the buffer; iperf3's first messages
    take two."""
    metrics, _ = limits(tmp_path, tool, "virtual")
    assert metrics["limited_send_buffer"] > 0.5
    assert metrics["limited_application"] <= 2 / 20
