"""profile.sysctl in a run: both hosts accept it, a send buffer that it sets is named as the limit, and one line names a
sysctl that the kernel lacks."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scenarios.virtual import kernel

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]

BUFFER = 262_144
SCENARIO = f"""
[scenario]
name = "buffer"
[path]
delay = "20ms"
rate = "100Mbit"
queue = "1MB"
[transfer]
duration = "3s"
[profile]
sysctl = "net.ipv4.tcp_wmem=4096 16384 {BUFFER}"
[capture]
points = ["snd", "rcv"]
"""


def limits(folder: Path) -> dict[str, int]:
    """The time of each limit of the run's only trial, ns."""
    (trial,) = folder.glob("buffer-*/trials/0000")
    summary = json.loads((trial / "summary.json").read_text())
    found: dict[str, int] = summary["flows"][summary["main_flow"]]["limits_ns"]
    return found


def lfp(*arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "lfp", *arguments]
    return subprocess.run(argv, capture_output=True, text=True, timeout=120)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    file = folder / "buffer.toml"
    file.write_text(SCENARIO)
    return lfp("run", str(file), "--time", "virtual", "--runs-dir", str(folder), *arguments)


def test_a_small_send_buffer_is_what_limits(tmp_path: Path) -> None:
    """Zero-copy data would not count in the send buffer, so virtual time copies here."""
    assert run(tmp_path).returncode == 0
    (trial,) = tmp_path.glob("buffer-*/trials/0000")
    assert json.loads((trial / "transfer.json").read_text())["sender"]["sndbuf_bytes"] == BUFFER
    assert json.loads((trial / "params.json").read_text())["sysctl"] == f"net.ipv4.tcp_wmem=4096 16384 {BUFFER}"
    lasted = limits(tmp_path)
    assert max(lasted, key=lambda cause: lasted[cause]) == "send_buffer"
    assert lasted.get("application", 0) < 0.05 * sum(lasted.values())
    shown = lfp("show", str(trial.parents[1])).stdout
    share = 100 * lasted["send_buffer"] / sum(lasted.values())
    assert re.search(rf"most limited by .*\n.* send buffer, {share:.0f} % ", shown), shown


def test_a_writer_waits_until_the_kernel_would_wake_it(tmp_path: Path) -> None:
    """The kernel wakes a writer when a third of the buffer is free. rttcp's calls end after 100 ms, here once a round
    trip; if a new call took any free space at once, it would send what no other program sends."""
    path = ["--set", "path.delay=100ms", "--set", "path.rate=1Gbit", "--set", "path.queue=12MB"]
    assert run(tmp_path, *path, "--set", "profile.sysctl=net.ipv4.tcp_wmem=4096 16384 4194304").returncode == 0
    assert "application" not in limits(tmp_path)


def test_a_sysctl_that_the_kernel_lacks_ends_the_run(tmp_path: Path) -> None:
    done = run(tmp_path, "--set", "profile.sysctl=net.ipv4.tcp_wnem=1")
    assert done.returncode == 3
    assert "needs net.ipv4.tcp_wnem = 1, which does not exist on this kernel" in done.stderr.splitlines()[-1]


def test_the_guest_has_memory_for_send_buffers_that_begin_large(tmp_path: Path) -> None:
    """Three streams fill 384 MB at once, more than TCP has in a guest that is sized by the path alone."""
    large = "profile.sysctl=net.ipv4.tcp_wmem=4096 134217728 134217728"
    assert run(tmp_path, "--set", large, "--set", "transfer.parallel=3", "--set", "path.rate=1Gbit").returncode == 0
    (trial,) = tmp_path.glob("buffer-*/trials/0000")
    verdict = json.loads((trial / "status.json").read_text())["verdict"]
    assert verdict["valid"], verdict["reasons"]
