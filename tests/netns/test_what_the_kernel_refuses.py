"""A setting that the kernel refuses: one line before the first trial says setting, value, what it takes, what helps."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.netns

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = """
[scenario]
name = "refused"
[transfer]
duration = "1s"
"""


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["profile.sysctl=net.ipv4.tcp_ecn=9"], r"net\.ipv4\.tcp_ecn = 9: Linux \S+ takes 0 to [2-5]; "),
        (["profile.sysctl=net.ipv4.tcp_ecn=1,net.ipv4.tcp_ecn=9"], r"net\.ipv4\.tcp_ecn = 9: "),
        (["transfer.congestion=lfp_prague"], r"congestion control lfp_prague: "),
        (["profile.name=l4s"], r"profile l4s: net\.ipv4\.tcp_ecn = 3|congestion control lfp_prague: "),
        (["transfer.second=lfp_prague"], r"congestion control lfp_prague: "),
    ],
)  # fmt: skip
def test_real_time_stops_at_once(tmp_path: Path, overrides: list[str], words: str) -> None:
    (tmp_path / "refused.toml").write_text(SCENARIO)
    sets = [word for one in overrides for word in ("--set", one)]
    argv = [
        sys.executable,
        "-m",
        "lfp",
        "run",
        str(tmp_path / "refused.toml"),
        "--runs-dir",
        str(tmp_path / "runs"),
        *sets,
    ]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 3, done.stdout + done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert re.search(words, line) and "; use --time virtual" in line, line
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").iterdir()), "a trial has run"
