"""The runner without a network: results after each trial, interruption, resuming, failed trials, run names, show."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner
from rich.console import Console
from support.scenario_runs import TINY, FakeTrials

from bench.speed import virtual_speed
from lfp.commands import trc
from lfp.commands.show import command as show
from netcommon.errors import LfpError, UsageError
from scenarios.certify import seal
from scenarios.plan import estimate
from scenarios.plan.plan import Plan, load_plan
from scenarios.run import results, runner, runs
from scenarios.virtual import cost


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
    assert (finished.failed, finished.verdict["valid"], finished.verdict["reasons"]) == (0, True, [])
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
    assert "trials/0003/transfer.json" in seal.check(run_dir)


def test_resume_does_not_hash_a_changed_run_again(fake: FakeTrials, plan: Plan, tmp_path: Path) -> None:
    run_dir = runner.start(plan, tmp_path / "runs")
    runner.resume(run_dir, quiet())
    changed = run_dir / "trials/0001/transfer.json"
    changed.write_text(changed.read_text() + " ")
    with pytest.raises(LfpError, match=r"trials/0001/transfer\.json: changed since the run's end"):
        runner.resume(run_dir, quiet())


def test_trc_goes_on_with_a_run_whose_first_trial_has_ended(fake: FakeTrials, plan: Plan, tmp_path: Path) -> None:
    run_dir = runner.start(plan, tmp_path / "runs")
    trials = trc.Trials(run_dir, 1500)
    assert trials.measure(1000) > 0 and trials.measure(2000) > 0
    assert [row["trial"] for row in parquet.read_table(run_dir / "results.parquet").to_pylist()] == [0, 1]
    assert "trials/0001/transfer.json" in seal.check(run_dir)


def test_ctrl_c_keeps_finished_trials_and_resume_does_the_rest(fake: FakeTrials, plan: Plan, tmp_path: Path) -> None:
    fake.stop_at = 2
    run_dir = runner.start(plan, tmp_path / "runs")
    with pytest.raises(KeyboardInterrupt):
        runner.resume(run_dir, quiet())
    assert runs.manifest(run_dir)["state"] == "interrupted"
    assert not (run_dir / seal.NAME).exists(), "a run that goes on has no hashes yet"
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
    assert any("transfer.window 16KB" in line and "2 Mbit/s" in line and "left" in line for line in lines)
    assert any("transfer.window 64KB" in line and "FAILED: rttcp: no route" in line for line in lines)


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


def test_show_tells_trials_apart_in_the_scenarios_words(fake: FakeTrials, tmp_path: Path) -> None:
    """Swept settings have a column each, and settings that all trials share are in a line above the table. A path
    without a paper has no stray []."""
    text = (
        TINY.replace('paper = "lfp-1995/fig3"\n', "")
        + '"path.queue" = ["30KB", "60KB"]\n"gateway.recovery" = ["fec", "gbn"]\n'
    )
    file = tmp_path / "swept.toml"
    file.write_text(text + '[gateway]\nkind = "lft"\nrate = "10Mbit"\n')
    runner.resume(runner.start(load_plan(str(file)), tmp_path / "runs"), quiet())
    shown = CliRunner().invoke(show, ["last", "--runs-dir", str(tmp_path / "runs")]).output.splitlines()
    heading = next(line for line in shown if line.startswith("trial"))
    assert heading.split()[:4] == ["trial", "transfer.window", "path.queue", "gateway.recovery"]
    rows = [line for line in shown if line.split("  ")[0].strip().isdigit()]
    assert len(rows) == 16 and len({row.split("Mbit/s")[0].partition(" ")[2] for row in rows}) == 16
    assert any("30 KB" in row and "fec" in row for row in rows)
    common = next(line for line in shown if "profile.name" in line)
    assert "gateway.kind lft" in common and "gateway.rate 10 Mbit/s" in common and "path.delay 4.2 ms" in common
    assert "[]" not in "".join(shown)


def test_show_says_that_a_transfer_of_a_duration_takes_longer(fake: FakeTrials, tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text(TINY.replace('bytes = "1MB"', 'duration = "10s"'))
    runner.resume(runner.start(load_plan(str(file)), tmp_path / "runs"), quiet())
    shown = " ".join(CliRunner().invoke(show, ["last", "--runs-dir", str(tmp_path / "runs")]).output.split())
    assert "from connect until the last byte is acknowledged, which took 10 ns" in shown
    assert "transfer.duration is when the sender stops giving data" in shown


def test_show_says_what_iperf3_counts(fake: FakeTrials, tmp_path: Path) -> None:
    """iperf3's server stops reading when the time is over: data in flight then count in neither octets nor time."""
    file = tmp_path / "long.toml"
    file.write_text(TINY.replace('bytes = "1MB"', 'duration = "10s"\ntool = "iperf3"'))
    runner.resume(runner.start(load_plan(str(file)), tmp_path / "runs"), quiet())
    shown = " ".join(CliRunner().invoke(show, ["last", "--runs-dir", str(tmp_path / "runs")]).output.split())
    assert "iperf3's short-term average: what its server had read when the test ended, over 10 ns" in shown
    assert "acknowledged" not in shown


def test_time_left_learns_from_the_trials_done(plan: Plan) -> None:
    expected_s = [estimate.trial_s(t.setting) for t in plan.trials]
    left = estimate.TimeLeft(expected_s)
    assert left.seconds() == sum(expected_s)
    left.done(expected_s[0], 2 * expected_s[0])
    assert left.seconds() == pytest.approx(2 * sum(expected_s[1:]))


# Case of the bench virtual.speed, its seconds, and the processor seconds that its trial took.
TAKEN_S = [("start", 0.1, 1.24), ("short", 15, 3.33), ("stream", 15, 2.06), ("captured", 15, 3.77), ("long", 20, 6.73),
           ("lossy", 10, 2.02), ("userspace", 10, 4.01), ("gateways", 10, 8.31), ("gateways", 1, 2.53)]  # fmt: skip


@pytest.mark.parametrize(("name", "seconds", "taken_s"), TAKEN_S)
def test_the_estimate_is_in_wall_time_of_the_chosen_kind(name: str, seconds: float, taken_s: float) -> None:
    (case,) = (case for case in virtual_speed.CASES if case.name == name)
    sets = [f"scenario.case={name}", f"transfer.duration={seconds}s"]
    (one,) = load_plan(str(virtual_speed.FILE), overrides=sets, seed=1).trials
    assert taken_s / 2 < cost.wall_s(one, case.box) < 2 * taken_s


def test_a_slow_cipher_is_announced() -> None:
    """3DES encrypts and decrypts 36 MB/s. 200 Mbit/s for two minutes are 3 GB, which takes it 170 s."""
    by_cipher = {
        cipher: next(one for one in load_plan("comet-fig13").trials if one.setting.gateway.cipher == cipher)
        for cipher in ("3des-cbc", "aes-128-gcm")
    }
    slow_s, fast_s = (cost.wall_s(by_cipher[cipher], "auto") for cipher in ("3des-cbc", "aes-128-gcm"))
    assert 130 < slow_s - fast_s < 220


def test_small_windows_are_expected_to_take_longer(plan: Plan) -> None:
    times = [estimate.trial_s(t.setting) for t in plan.trials]
    assert times == sorted(times, reverse=True)
    assert times[0] == pytest.approx(2**20 * 8.4e-3 / 8192, rel=0.5)


@pytest.mark.parametrize(("seconds", "text"), [(5, "5 s"), (89.4, "89 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")])
def test_spoken_times(seconds: float, text: str) -> None:
    assert estimate.spoken(seconds) == text
