"""[pair.N.path] in virtual time: delays of a pair's own path and of [path] add up, in every kind of box."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from support.virtual import virtual

from lfp import cli

pytestmark = [pytest.mark.netns, *virtual]

MS = 10**6
SCENARIO = """
[scenario]
name = "own"
[path]
delay = "10ms"
rate = "10Mbit"
queue = "1MB"
granularity = "50us"
[pair.1.path]
ab_rate = "2Mbit"
queue = "1MB"
[pair.2.path]
delay = "20ms"
ba_delay = "40ms"
[transfer]
bytes = "200KB"
[flow.far]
pair = 2
exchanges = 20
request = "100B"
response = "100B"
[flow.near]
pair = 3
exchanges = 20
request = "100B"
response = "100B"
"""


@pytest.mark.parametrize("box", ["netem", "comet", "kernel"])
def test_delays_add_up_and_a_pair_has_its_own_rate(tmp_path: Path, box: str) -> None:
    (tmp_path / "own.toml").write_text(SCENARIO)
    runs = str(tmp_path / "runs")
    run = ["run", str(tmp_path / "own.toml"), "--time", "virtual", "--box", box, "--seed", "1", "--runs-dir", runs]
    assert cli.run(run) == 0
    (file,) = (tmp_path / "runs").glob("*/results.parquet")
    slow, far, near = parquet.read_table(file).to_pylist()
    assert all(row["valid"] for row in (slow, far, near))
    assert (near["rtt_ns"], far["rtt_ns"]) == (20 * MS, 80 * MS)
    for row in (near, far):  # headers and 100 octets on 10 Mbit/s take 0.2 ms there and back
        assert row["rtt_ns"] <= row["latency_min_ns"] <= row["rtt_ns"] + 1.5 * MS
    assert 1.6e6 < slow["short_term_bps"] < 2e6
    assert far["pair_path"] == "delay=20ms ba_delay=40ms"


OUTAGES = """
[scenario]
name = "own"
[path]
delay = "10ms"
rate = "20Mbit"
queue = "1MB"
[pair.{pair}.path]
loss = "time:3s-3400ms"
[transfer]
duration = "6s"
interval = "50ms"
pace = "8Mbit"
[flow.other]
pair = 2
[capture]
points = ["snd", "rcv"]
"""


@pytest.mark.parametrize("pair", [1, 2])
def test_an_outage_of_a_pairs_own_path_is_its_flows_alone(tmp_path: Path, pair: int) -> None:
    (tmp_path / "own.toml").write_text(OUTAGES.format(pair=pair))
    run = ["run", str(tmp_path / "own.toml"), "--time", "virtual", "--box", "kernel", "--seed", "1"]
    assert cli.run([*run, "--runs-dir", str(tmp_path / "runs")]) == 0
    (file,) = (tmp_path / "runs").glob("*/results.parquet")
    rows = parquet.read_table(file).to_pylist()
    hit, spared = rows[pair - 1], rows[2 - pair]
    assert all(row["valid"] for row in rows)
    assert hit["outages"] == 1 and 0 < hit["recovery_ns"] < 2000 * MS
    assert spared["outages"] is None and spared["recovery_ns"] is None
    if pair == 1:  # the captures are pair 1's
        assert hit["seen_outage"] > 0 and hit["limited_path_down"] > 0.05
