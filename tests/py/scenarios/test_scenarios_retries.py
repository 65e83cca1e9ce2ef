"""Trials that were not valid are measured again, up to run.retries times. An attempt that a later one supersedes is
kept and listed, but is in no result."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner
from rich.console import Console
from support.scenario_runs import TINY, FakeTrials

from lfp.commands.show import command as show
from netcommon.errors import UsageError
from scenarios.plan.plan import Plan, load_plan
from scenarios.run import runner, runs
from scenarios.trial import attempts, verdicts


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeTrials:
    return FakeTrials(monkeypatch, tmp_path)


def plan_with(tmp_path: Path, retries: int) -> Plan:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return load_plan(str(path), overrides=[f"run.retries={retries}"])


def run(plan: Plan, tmp_path: Path) -> tuple[Path, runner.Finished, str]:
    out = io.StringIO()
    run_dir = runner.start(plan, tmp_path / "runs")
    return run_dir, runner.resume(run_dir, Console(file=out, width=200)), out.getvalue()


def test_by_default_nothing_is_repeated(fake: FakeTrials, tmp_path: Path) -> None:
    fake.late = {1: 1, 2: 1}
    run_dir, finished, _ = run(plan_with(tmp_path, 0), tmp_path)
    assert len(fake.ran) == 4
    assert finished.verdict["summary"] == "2 of 4 trials not valid: machine's timers late (2)"
    assert runs.manifest(run_dir)["superseded"] == [] and not (run_dir / attempts.FOLDER).exists()


def test_trials_that_were_not_valid_are_repeated_after_all_others(fake: FakeTrials, tmp_path: Path) -> None:
    fake.late = {1: 1, 2: 2}
    plan = plan_with(tmp_path, 2)
    run_dir, finished, printed = run(plan, tmp_path)
    order = [one.number for one in plan.in_order()]
    assert fake.ran == [*order, *(number for number in order if number in (1, 2)), 2]
    assert finished.verdict["valid"] and finished.superseded == 3
    assert [folder.name for folder in runs.trial_folders(run_dir)] == ["0000", "0001", "0002", "0003"]
    assert [folder.name for folder in attempts.folders(run_dir)] == ["0001.1", "0002.1", "0002.2"]
    assert "not valid: 2 of 4 trials, measured again" in printed
    assert "NOT VALID: machine late 38 ms (p99)" in printed
    assert all(len(line) <= 100 for line in printed.splitlines())


def test_only_the_last_attempt_is_in_the_results_and_the_others_are_listed(fake: FakeTrials, tmp_path: Path) -> None:
    fake.late = {3: 2}
    run_dir, _, _ = run(plan_with(tmp_path, 2), tmp_path)
    rows = parquet.read_table(run_dir / "results.parquet").to_pylist()
    assert [(row["trial"], row["valid"]) for row in rows] == [(0, True), (1, True), (2, True), (3, True)]
    superseded = runs.manifest(run_dir)["superseded"]
    assert [(one["trial"], one["attempt"], one["path"]) for one in superseded] == [
        (3, 1, "superseded/0003.1"),
        (3, 2, "superseded/0003.2"),
    ]
    assert all(one["reasons"][0].startswith("delay box: p99 lateness 42 ms") for one in superseded)
    assert attempts.lines(superseded)[0] == "superseded: trial 3, attempt 1: machine late 38 ms (p99)"
    table = CliRunner().invoke(show, [str(run_dir)]).output.splitlines()
    assert table[-2:] == attempts.lines(superseded) and "all 4 trials valid" in table[1]
    kept = json.loads((run_dir / "superseded" / "0003.2" / "status.json").read_text())
    assert (kept["attempt"], kept["verdict"]["valid"]) == (2, False)
    assert json.loads((run_dir / "trials" / "0003" / "status.json").read_text())["attempt"] == 3


def test_what_never_was_valid_stays_not_valid(fake: FakeTrials, tmp_path: Path) -> None:
    fake.late, fake.fail = {0: 99}, {1}
    run_dir, finished, _ = run(plan_with(tmp_path, 2), tmp_path)
    assert sorted(fake.ran) == [0, 0, 0, 1, 1, 1, 2, 3]
    assert finished.failed == 1 and not finished.verdict["valid"]
    assert len(runs.manifest(run_dir)["superseded"]) == 4


def test_an_interrupted_run_repeats_what_is_left_and_no_more(fake: FakeTrials, tmp_path: Path) -> None:
    fake.late, fake.stop_at = {0: 99}, 5
    run_dir = runner.start(plan_with(tmp_path, 2), tmp_path / "runs")
    with pytest.raises(KeyboardInterrupt):
        runner.resume(run_dir, Console(file=io.StringIO()))
    assert fake.ran.count(0) == 2 and len(runs.manifest(run_dir)["superseded"]) == 1
    fake.stop_at = None
    runner.resume(run_dir, Console(file=io.StringIO()))
    assert fake.ran.count(0) == 3
    runner.resume(run_dir, Console(file=io.StringIO()))
    assert len(fake.ran) == 6, "nothing is left to repeat"


def test_a_failed_trial_that_is_done_again_on_resume_is_kept_too(fake: FakeTrials, tmp_path: Path) -> None:
    fake.fail = {2}
    run_dir, _, _ = run(plan_with(tmp_path, 0), tmp_path)
    fake.fail = set()
    runner.resume(run_dir, Console(file=io.StringIO()))
    (one,) = runs.manifest(run_dir)["superseded"]
    assert (one["trial"], one["state"], verdicts.short(one)) == (2, "failed", "failed")


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("run.retries=-1", "run.retries"),
        ("run.retries=101", "run.retries"),
        ("run.lateness=0", "run.lateness = 0: out of range; allowed is 1us to 60s"),
        ("run.lateness=soon", "run.lateness = 'soon': not a duration"),
    ],
)
def test_wrong_values_name_the_key(tmp_path: Path, override: str, words: str) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    with pytest.raises(UsageError) as caught:
        load_plan(str(path), overrides=[override])
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["lfp-syndrome", "lfp-seqack"])
def test_the_demonstration_repeats_twice(name: str) -> None:
    assert load_plan(name, quick=True).base.run.retries == 2
    assert load_plan(name).base.run.retries == 0
