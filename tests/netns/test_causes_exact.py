"""What pktlogger says of a path that goes down or becomes longer, against the box's record, in virtual time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pktlogger
from scenarios.virtual import kernel

pytestmark = [
    pytest.mark.netns, pytest.mark.virtual, pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]  # fmt: skip

ROOT = Path(__file__).resolve().parents[2]
MS = 1_000_000
OUTAGE = """
[scenario]
name = "outage"
[path]
delay = "20ms"
rate = "50Mbit"
queue = "1 BDP"
loss = "time:2s-{end_s}s"
change = "{change}"
[transfer]
duration = "4s"
[capture]
points = ["snd", "box", "rcv"]
"""


def trial_of(folder: Path, text: str) -> Path:
    """The folder of the only trial of a scenario."""
    (folder / "one.toml").write_text(text)
    argv = [sys.executable, "-m", "scenarios.cli", "run", folder / "one.toml", "--time", "virtual", "--seed", 1]
    done = subprocess.run([*map(str, argv), "--runs-dir", str(folder / "runs")], cwd=ROOT, capture_output=True,
                          text=True, timeout=240)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = (folder / "runs").iterdir()
    return run / "trials" / "0000"


def main_flow(folder: Path) -> dict[str, Any]:
    summary = json.loads((folder / "summary.json").read_text())
    (flow,) = (flow for flow in summary["flows"] if flow["flow"] == summary["main_flow"])
    return dict(flow)


def limits_of(folder: Path) -> list[tuple[float, float, str]]:
    """The limits of the main flow: from, to (ms since its first packet), cause."""
    found, flow = pktlogger.read_analysis(folder), main_flow(folder)
    names = found.summary["limit_causes"]
    return [
        ((row["t0_ns"] - flow["t0_ns"]) / MS, (row["t1_ns"] - flow["t0_ns"]) / MS, names[row["cause"]])
        for row in found.limits.to_pylist() if row["flow"] == flow["flow"]
    ]  # fmt: skip


@pytest.mark.parametrize("change", ["none", "2s delay=30ms", "2020ms delay=12ms"])
@pytest.mark.parametrize("lasts_ms", [50, 200, 1000])
def test_a_path_that_is_down_is_the_limit_and_the_reason(tmp_path: Path, lasts_ms: int, change: str) -> None:
    """However long it is down, and whatever the delay does meanwhile: what it takes is lost to the outage, and from its
    beginning until something has passed and is acknowledged nothing else limits the sender."""
    folder = trial_of(tmp_path, OUTAGE.format(end_s=2 + lasts_ms / 1000, change=change))
    flow = main_flow(folder)
    assert flow["box"]["outage"] > 50 and flow["box"]["loss"] == 0
    assert flow["losses_by_cause"]["outage"] == flow["box"]["outage"]
    assert flow["losses_by_cause"].get("tail_drop", 0) == flow["box"]["queue"]
    assert flow["lost"] == flow["box"]["outage"] + flow["box"]["queue"]
    (down,) = (limit for limit in limits_of(folder) if limit[2] == "path_down")
    assert down[1] - down[0] >= lasts_ms, "it is down until something passes"
    rtt_ms, tries = 100, 2 if lasts_ms > 100 else 1  # a time-out may wait as long again as the outage lasted
    assert down[1] - down[0] <= tries * lasts_ms + 2 * rtt_ms + 200
