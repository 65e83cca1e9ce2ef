"""Rate mode `auto` in virtual time over a path that becomes longer: gateways, kernel's TCP and delay box together.

The same path without the change is the reference. Eight round trips of 60 ms show that a lower rate does not shorten
the delay; in them the rate falls to (7/8)^8 = 0.34, which costs less than 0.5 s of the transfer.
"""

from __future__ import annotations

import json
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

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 12
LONGER = f"""
[scenario]
name = "longer"
[path]
delay = "20ms"
rate = "100Mbit"
queue = "1 BDP"
[transfer]
duration = "{SECONDS}s"
[gateway]
kind = "lft"
rate_mode = "auto"
rate = "150Mbit"
[sweep]
"path.change" = ["none", "4s delay=25ms", "4s delay=30ms"]
[run]
order = "listed"
seed = 1
"""


def test_a_path_that_becomes_longer_keeps_its_rate(tmp_path: Path) -> None:
    """The rate once fell to 1 Mbit/s for the rest of the transfer."""
    file = tmp_path / "longer.toml"
    file.write_text(LONGER)
    argv = [sys.executable, "-m", "lfp", "run", str(file), "--time", "virtual", "--runs-dir", str(tmp_path)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    rates = []
    for trial in sorted(tmp_path.glob("*/trials/0*")):
        assert json.loads((trial / "status.json").read_text())["verdict"]["valid"], trial
        rates.append(json.loads((trial / "transfer.json").read_text())["summary"]["short_term_bps"])
    unchanged, shorter, longer = rates
    assert min(shorter, longer) > (1 - 0.5 / SECONDS) * unchanged, rates
