"""Estimates of paths whose rate is a trace: the time that an amount takes, and the output of `lfp explain`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lfp import cli
from scenarios.plan import estimate, rate_trace
from scenarios.plan.plan import load_plan

SCENARIO = """\
[scenario]
name = "cellular"
[path]
delay = "30ms"
rate_trace = "TRACE"
queue = "150KB"
[transfer]
duration = "88s"
[capture]
points = ["snd", "rcv"]
"""


def scenario(folder: Path, trace: str, **transfer: str) -> str:
    file = folder / "cellular.toml"
    text = SCENARIO.replace("TRACE", trace)
    for key, value in transfer.items():
        text = text.replace('duration = "88s"', f'{key} = "{value}"')
    file.write_text(text)
    return str(file)


def test_steps_keep_their_last_rate_and_files_begin_again(tmp_path: Path) -> None:
    steps = rate_trace.read("rate:0s=10Mbit,5s=1Mbit")
    assert steps and steps.sizing_bps == 10_000_000
    assert [steps.bits_in(s) for s in (1, 5, 15)] == pytest.approx([10e6, 50e6, 60e6])
    assert steps.seconds_for(55e6) == pytest.approx(10)
    file = tmp_path / "trace"
    file.write_text("# two packets each 10 ms\n5\n5\n10\n10\n")
    for kind, octets in (("mahimahi", 1500), ("mm-link", 1504)):
        found = rate_trace.read(f"{kind}:{file}")
        assert found and found.bits_in(2) == pytest.approx(2 * 400 * octets * 8)
        assert found.sizing_bps == 400 * octets * 8
    assert rate_trace.read("none") is None and rate_trace.read("mahimahi:/no/such/file") is None


def test_a_trace_says_how_much_is_moved_and_how_long_it_takes(tmp_path: Path) -> None:
    file = tmp_path / "trace"
    file.write_text("".join(f"{ms}\n" for ms in range(1, 1001)))  # 12 Mbit/s
    setting = load_plan(scenario(tmp_path, f"mahimahi:{file}"), seed=1).trials[0].setting
    assert estimate.moved_bytes(setting) == pytest.approx(88 * 12e6 / 8, rel=0.01)
    setting = load_plan(scenario(tmp_path, "rate:0s=8Mbit,1s=800Kbit", bytes="2MB"), seed=1).trials[0].setting
    assert estimate.transfer_s(setting) == pytest.approx(1 + (2 * 2**20 * 8 - 8e6) / 8e5)
    setting = load_plan(scenario(tmp_path, "rate:0s=10Mbit"), seed=1).trials[0].setting
    plain = setting.path.model_copy(update={"rate_trace": "none", "rate": 10_000_000})
    same = setting.model_copy(update={"path": plain})
    assert estimate.moved_bytes(setting) == estimate.moved_bytes(same)
    assert estimate.held_bytes(setting, "ab") == estimate.held_bytes(same, "ab") > 0


@pytest.mark.parametrize("clock", ["real", "virtual"])
def test_explain_asks_for_what_the_trace_lets_through(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], clock: str
) -> None:
    assert cli.run(["explain", scenario(tmp_path, "rate:0s=10Mbit,40s=12Mbit"), "--time", clock, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    captured = 2 * 1.5 * 88 * 12e6 / 8  # octets at most: two capture points, with acknowledgements
    assert found["disk_bytes"] < 2 * captured
    assert found["memory_bytes"] < 2e9
    if shutil.disk_usage(tmp_path).free > 2 * captured:
        assert found["disk_bytes"] < found["disk_free_bytes"]
