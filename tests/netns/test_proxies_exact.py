"""Many connections through proxies, in virtual time: parallel streams both ways, with short transfers at the same time
and every octet checked, through fixed ports, SOCKS5, HTTP CONNECT and a transparent proxy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from support.virtual import virtual

pytestmark = [pytest.mark.netns, *virtual]

ROOT = Path(__file__).resolve().parents[2]
RELAYS = [Path(__file__).with_name(name) for name in ("conformance_relay.py", "proxy_relay.py")]
PATH = """
[path]
delay = "5ms"
rate = "100Mbit"
queue = "250KB"
[run]
seed = 1
"""
PORTS = """
[gateway]
kind = "command"
model = "proxy"
near = "python3 conformance_relay.py near $listen $far $ports"
far = "python3 conformance_relay.py far $far $receiver $ports"
"""
ASKED = """
[gateway]
kind = "command"
model = "proxy"
proxy = "{}"
near = "python3 proxy_relay.py {} $listen $proxy_port"
far = "sleep infinity"
"""
LFT = '[gateway]\nkind = "lft"\nmodel = "proxy"\nproxy = "{}"\nrate = "90Mbit"\n'
MANY = """
[transfer]
duration = "2s"
parallel = 4
bidir = true
verify = true
short = "20KB"
"""
SIDE_BY_SIDE = """
[transfer]
bytes = "4MB"
parallel = 2
verify = true
[flow.one]
bytes = "100KB"
verify = true
[flow.two]
bytes = "100KB"
parallel = 3
verify = true
[flow.asks]
verify = false
request = "100"
response = "2KB"
exchanges = 90
parallel = 9
"""
GATEWAYS = {
    "ports": PORTS,
    **{f"lft-{kind}": LFT.format(kind) for kind in ("ports", "socks5", "http")},
    **{kind: ASKED.format(kind, kind) for kind in ("socks5", "http", "transparent")},
}


def results(folder: Path, scenario: str, *more: str) -> tuple[list[dict[str, Any]], Path]:
    """The rows, and the trial's folder."""
    for relay in RELAYS:
        (folder / relay.name).write_text(relay.read_text())
    (folder / "many.toml").write_text(scenario)
    argv = [sys.executable, "-m", "lfp", "run", str(folder / "many.toml"), "--time", "virtual",
            "--runs-dir", str(folder / "runs"), *more]  # fmt: skip
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = (folder / "runs").iterdir()
    return parquet.read_table(run / "results.parquet").to_pylist(), run / "trials" / "0000"


@pytest.mark.parametrize("gateway", GATEWAYS)
def test_streams_both_ways_and_short_transfers_beside_them(tmp_path: Path, gateway: str) -> None:
    ((row,), trial) = results(tmp_path, PATH + GATEWAYS[gateway] + MANY)
    assert row["verified"] == "ok" and row["valid"]
    assert 30e6 < row["short_term_bps"] < 100e6 and 30e6 < row["reverse_bps"] < 100e6
    assert 0 < row["stream_min_bps"] <= row["stream_max_bps"] < row["short_term_bps"]
    assert row["short_median_ns"] > 20_000_000  # two round trips at least
    end = json.loads((trial / "transfer.json").read_text())
    for way in (end, end["reverse"]):
        streams = way["receiver"]["streams"]
        assert len(streams) == 4 and len({one["digest"] for one in streams}) == 4
        assert sum(one["bytes"] for one in streams) == way["receiver"]["bytes"]


@pytest.mark.parametrize("gateway", ["ports", "lft-socks5"])
def test_flows_side_by_side_have_their_own_octets(tmp_path: Path, gateway: str) -> None:
    rows, _ = results(tmp_path, PATH + GATEWAYS[gateway] + SIDE_BY_SIDE)
    found = {row["flow_name"]: row for row in rows}
    assert set(found) == {"main", "one", "two", "asks"}
    assert [found[name]["verified"] for name in ("main", "one", "two")] == ["ok"] * 3
    assert found["asks"]["exchanges_per_s"] > 0


def test_the_two_connections_of_a_client_that_asks_are_not_joined(tmp_path: Path) -> None:
    """The client's stream begins with its request to the proxy, so offsets in the two streams differ."""
    captured = '[capture]\npoints = "all"\n'
    ((row,), trial) = results(tmp_path, PATH + GATEWAYS["socks5"] + '[transfer]\nbytes = "1MB"\n' + captured)
    assert row["dwell_p50_ns"] is None and row["stalls"] is None and row["limited_gateway"] is None
    assert (trial / "segments.parquet").exists() and not (trial / "through.json").exists()
