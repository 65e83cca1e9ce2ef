"""System calls with a price in virtual time ([cpu]): they take exactly that price, delay no other program, and make a
gateway as slow as its calls."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import cpu_measures
import pyarrow.parquet as parquet
import pytest
from support.virtual import in_virtual_time, virtual

pytestmark = [pytest.mark.netns, *virtual]

ROOT = Path(__file__).resolve().parents[2]
MS, LATE_NS = 10**6, 50_000  # LATE_NS: how far a thread may be ahead of its processor (SCENARIO.md)
LOOKS_NS = 256 * 300
SLOW = """
[scenario]
name = "slow"
[path]
delay = "5ms"
rate = "200Mbit"
queue = "1MB"
[transfer]
duration = "4s"
[gateway]
kind = "lft"
rate = "190Mbit"
[case.gateway]
cpu.rate = "200Mbit"
[case.call]
cpu.call = "250us"
[case.hosts]
cpu.of = "hosts"
cpu.rate = "40Mbit"
[case.free]
[sweep]
"scenario.case" = ["gateway", "call", "hosts", "free"]
[run]
order = "listed"
"""


def test_a_call_and_a_byte_cost_what_was_said() -> None:
    found = in_virtual_time(cpu_measures.calls)
    assert 1000 * MS - LATE_NS <= found["call"] <= 1000 * MS + LOOKS_NS
    assert 200 * MS - LATE_NS <= found["byte"] <= 200 * MS + LOOKS_NS
    assert found["free"] <= 2 * LATE_NS


def test_a_search_for_files_that_are_not_there_costs_nothing() -> None:
    """The folders of PATH, and which of them have the program, depend on the host."""
    assert in_virtual_time(cpu_measures.searches) <= 3 * MS  # the calls that write the price, and Python's own calls


def test_the_processor_rests_while_its_thread_waits() -> None:
    assert in_virtual_time(cpu_measures.rests) <= 3 * 100_000  # the calls of one sleep


def test_each_program_has_a_processor_and_who_has_no_price_waits_for_nobody() -> None:
    found = in_virtual_time(cpu_measures.beside)
    for name in ("one", "other"):
        assert 500 * MS - LATE_NS <= found[name] <= 510 * MS, name
    assert 100 * MS <= found["free"] <= 101 * MS


def test_children_inherit_the_price() -> None:
    assert 100 * MS - LATE_NS <= in_virtual_time(cpu_measures.inherited) <= 101 * MS


@pytest.mark.parametrize("text", ["1", "x 1", "-1 0", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17"])
def test_a_price_that_is_none_is_refused(text: str) -> None:
    assert in_virtual_time(cpu_measures.refused, text=text)


def test_a_gateway_is_as_slow_as_its_calls(tmp_path: Path) -> None:
    path, runs = tmp_path / "slow.toml", tmp_path / "runs"
    path.write_text(SLOW)
    argv = [sys.executable, "-m", "lfp", "run", str(path), "--time", "virtual", "--runs-dir", str(runs)]
    done = subprocess.run([*argv, "--jobs", "2", "--seed", "1"], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    run = next(runs.iterdir())
    shown = parquet.read_table(run / "results.parquet").to_pylist()
    assert all(row["valid"] for row in shown), [row["reasons"] for row in shown]
    mbps = {row["case"]: row["short_term_bps"] / 1e6 for row in shown}
    assert 176 <= mbps["free"] <= 181  # 190 Mbit/s of frames, of which 95 % are data (docs/explanation/lft-recovery.md)
    assert 85 <= mbps["gateway"] <= 100  # a gateway pays for each byte twice, and for headers and ACKs
    assert 38 <= mbps["hosts"] <= 40
    assert mbps["call"] < 0.95 * mbps["free"]
    busy = {row["case"]: row["cpu_gateways_ns"] / 2 / row["elapsed_ns"] for row in shown}
    assert 0.8 <= busy["gateway"] <= 1.1 and busy["free"] < 0.1
