"""A gateway that stalls at every 1,000th chunk, in virtual time: columns say on which side, and a gate with a bound on
them fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from support.virtual import virtual

pytestmark = [pytest.mark.netns, *virtual]

ROOT = Path(__file__).resolve().parents[2]
RELAY = Path(__file__).with_name("conformance_relay.py")
SCENARIO = """
[path]
delay = "5ms"
rate = "100Mbit"
queue = "250KB"
[transfer]
duration = "4s"
pace = "20Mbit"
[gateway]
kind = "command"
model = "proxy"
near = "python3 conformance_relay.py near $listen $far $ports{near}"
far = "python3 conformance_relay.py far $far $receiver $ports{far}"
[capture]
points = "all"
[run]
seed = 1
[[expect]]
say = "nothing stalls"
of = "stalls"
max = 0
[[expect]]
say = "no octet waits for long in the far gateway"
of = "dwell_far_max_ns"
max = "100ms"
"""


@pytest.mark.parametrize(("side", "stalls"), [("near", True), ("far", True), ("", False)])
def test_a_stall_every_1000th_chunk_has_its_side_and_fails_who_asks(tmp_path: Path, side: str, stalls: bool) -> None:
    (tmp_path / RELAY.name).write_text(RELAY.read_text())
    faults = {one: " --fault stall" if one == side else "" for one in ("near", "far")}
    (tmp_path / "stalls.toml").write_text(SCENARIO.format(**faults))
    argv = [sys.executable, "-m", "lfp", "run", str(tmp_path / "stalls.toml"), "--time", "virtual",
            "--runs-dir", str(tmp_path / "runs")]  # fmt: skip
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=200)
    (row,) = parquet.read_table(next(tmp_path.glob("runs/*/results.parquet"))).to_pylist()
    assert done.returncode == int(stalls), done.stdout + done.stderr
    found = {one: row[f"stalls_{one}"] for one in ("near", "tunnel", "far")}
    if not stalls:
        assert found == {"near": 0, "tunnel": 0, "far": 0}
        assert max(row["dwell_near_max_ns"], row["dwell_far_max_ns"]) < 50_000_000
        assert 5_000_000 <= row["dwell_tunnel_p50_ns"] < 7_000_000
        return
    assert found[side] > 0 and sum(found.values()) == found[side], (found, row["stall_near_max_ns"])
    assert 190_000_000 < row[f"stall_{side}_max_ns"] < 230_000_000
    other = "far" if side == "near" else "near"
    assert 190_000_000 < row[f"dwell_{side}_max_ns"] < 230_000_000 > row[f"dwell_{other}_max_ns"]
    assert row[f"dwell_{side}_p50_ns"] < 30_000_000
    assert row["dwell_error_ns"] < 5_000_000
