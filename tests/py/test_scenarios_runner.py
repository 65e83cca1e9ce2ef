"""The runner without a network: results after each trial, interruption, resuming, failed trials, run names, show."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner
from rich.console import Console
from scenario_runs import TINY, FakeTrials

from netcommon.errors import UsageError
from scenarios import estimate, results, runner, runs
from scenarios.commands.show import command as show
from scenarios.plan import Plan, load_plan


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeTrials:
    return FakeTrials(monkeypatch, tmp_path)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return load_plan(str(path))


def quiet() -> Console:
    return Console(file=io.StringIO(), width=200)


def test_a_run_leaves_what_the_contract_says(fake: FakeTrials, plan: Plan, tmp_path: Path) -> None:
    run_dir = runner.start(plan, tmp_path / "runs")
    finished = runner.resume(run_dir, quiet())
    assert (finished.failed, finished.verdict) == (0, {"valid": True, "reasons": []})
    assert fake.ran == [t.number for t in plan.in_order()]
    content = runs.manifest(run_dir)
    assert (content["state"], content["plan"], content["paper"]) == ("done", 4, "lfp-1995/fig3")
    assert content["sysctls"]["modern"]["net.ipv4.tcp_sack"] == "1"
    assert content["ended_realtime_ns"] >= content["started_realtime_ns"]
    table = parquet.read_table(run_dir / "results.parquet")
    assert table.schema.equals(results.SCHEMA)
    assert table["trial"].to_pylist() == [0, 1, 2, 3]
    assert table["window_bytes"].to_pylist() == [8192, 16384, 32768, 65536]
    assert table["rtt_min_ns"].to_pylist() == [8_400_000] * 4
    assert table["rtt_median_ns"].to_pylist() == [9_000_000] * 4
    assert table["timeouts"].to_pylist() == [2] * 4
    assert table["cpu_sender_ns"].to_pylist() == [11] * 4
    assert table["stopped_share"].to_pylist() == [None] * 4


def test_ctrl_c_keeps_finished_trials_and_resume_does_the_rest(fake: FakeTrials, plan: Plan, tmp_path: Path) -> None:
    fake.stop_at = 2
    run_dir = runner.start(plan, tmp_path / "runs")
    with pytest.raises(KeyboardInterrupt):
        runner.resume(run_dir, quiet())
    assert runs.manifest(run_dir)["state"] == "interrupted"
    assert "2 of 4 trials not done" in runs.manifest(run_dir)["verdict"]["reasons"]
    assert parquet.read_table(run_dir / "results.parquet").num_rows == 2
    fake.stop_at = None
    runner.resume(run_dir, quiet())
    assert fake.ran == [t.number for t in plan.in_order()], "same order, none twice"
    assert runs.manifest(run_dir)["verdict"]["valid"]
    assert parquet.read_table(run_dir / "results.parquet").num_rows == 4


def test_a_failed_trial_is_a_row_and_is_done_again(fake: FakeTrials, plan: Plan, tmp_path: Path) -> None:
    fake.fail = {1}
    run_dir = runner.start(plan, tmp_path / "runs")
    assert runner.resume(run_dir, quiet()).failed == 1
    rows = parquet.read_table(run_dir / "results.parquet").to_pylist()
    assert [row["state"] for row in rows] == ["done", "failed", "done", "done"]
    assert rows[1]["short_term_bps"] is None
    fake.fail = set()
    assert runner.resume(run_dir, quiet()).failed == 0
    assert fake.ran[4:] == [1]


def test_a_line_a_trial_when_not_on_a_terminal(fake: FakeTrials, plan: Plan, tmp_path: Path) -> None:
    fake.fail = {3}
    out = io.StringIO()
    runner.resume(runner.start(plan, tmp_path / "runs"), Console(file=out, width=200))
    lines = out.getvalue().splitlines()
    assert len(lines) == 5
    assert any("window 16KB" in line and "2.00 Mbit/s" in line and "left" in line for line in lines)
    assert any("window 64KB" in line and "FAILED: rttcp: no route" in line for line in lines)


def test_runs_are_found_by_path_name_and_last(fake: FakeTrials, plan: Plan, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    first, second = runner.start(plan, folder), runner.start(plan, folder)
    assert runs.find(str(first), folder) == first
    assert runs.find(first.name, folder) == first
    assert runs.find("last", folder) == second
    with pytest.raises(UsageError, match="run 'nope'"):
        runs.find("nope", folder)
    with pytest.raises(UsageError, match="no runs in"):
        runs.find("last", tmp_path / "elsewhere")


def test_show_json_is_one_object_a_trial(fake: FakeTrials, plan: Plan, tmp_path: Path) -> None:
    fake.fail = {1}
    run_dir = runner.start(plan, tmp_path / "runs")
    runner.resume(run_dir, quiet())
    printed = CliRunner().invoke(show, [str(run_dir), "--json"]).output.splitlines()
    trials = [json.loads(line) for line in printed]
    assert [t["trial"] for t in trials] == [0, 1, 2, 3]
    assert trials[2]["params"]["window_bytes"] == 32768
    assert trials[2]["metrics"]["short_term_bps"] == 3e6
    assert trials[1]["verdict"]["valid"] is False
    assert Path(trials[0]["path"]).is_dir()
    table = CliRunner().invoke(show, ["last", "--runs-dir", str(tmp_path / "runs")]).output
    assert "FAILED: rttcp: no route" in table
    assert "8.40" not in table.splitlines()[0]


def test_time_left_learns_from_the_trials_done(plan: Plan) -> None:
    left = estimate.TimeLeft(t.setting for t in plan.trials)
    before = left.seconds()
    setting = plan.trials[0].setting
    left.done(setting, 2 * estimate.trial_s(setting))
    assert left.seconds() == pytest.approx(2 * (before - estimate.trial_s(setting)))


def test_small_windows_are_expected_to_take_longer(plan: Plan) -> None:
    times = [estimate.trial_s(t.setting) for t in plan.trials]
    assert times == sorted(times, reverse=True)
    assert times[0] == pytest.approx(2**20 * 8.4e-3 / 8192, rel=0.5)


@pytest.mark.parametrize(("seconds", "text"), [(5, "5 s"), (89.4, "89 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")])
def test_spoken_times(seconds: float, text: str) -> None:
    assert estimate.spoken(seconds) == text
