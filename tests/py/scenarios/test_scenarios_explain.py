"""`lfp new` and `lfp explain`: a file to start from, and what a scenario takes before it runs."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.scenario_runs import TINY, FakeTrials

from lfp import cli
from lfp.commands import new
from scenarios.plan import estimate
from scenarios.plan.plan import load_plan
from scenarios.run import forecast, runner, runs, speed
from scenarios.trial.files import write_json
from scenarios.virtual import memory


def test_a_new_scenario_can_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run(["new", "mine"]) == 0
    plan = load_plan("mine.toml")
    assert plan.name == "mine" and len(plan.trials) == 24
    assert len(load_plan("mine.toml", quick=True).trials) == 6


def test_what_it_comments_out_is_right_too(tmp_path: Path) -> None:
    lines = new.TEMPLATE.read_text().splitlines()
    text = "\n".join(re.sub(r"^# (?=\[|[a-z]+ = )", "", line) for line in lines)
    (tmp_path / "all.toml").write_text(text)
    plan = load_plan(str(tmp_path / "all.toml"))
    assert plan.base.gateway.kind == "lft" and plan.base.expect and plan.base.capture.points
    assert not re.search(r"^# *[a-z]+ = ", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "said"),
    [("mine", "mine.toml exists and is kept"), ("a b", "is not a name for a scenario"), ("no/where", "No such file")],
)
def test_new_overwrites_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text("precious")
    assert cli.run(["new", name]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["mine.toml"]
    assert Path("mine.toml").read_text() == "precious"


def explained(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert cli.run(["explain", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(TINY)
    return "tiny.toml"


def test_the_plan_and_what_it_takes(tiny: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = explained(capsys, tiny, "--set", "run.repeat=3", "--time", "virtual", "--jobs", "2")
    assert (found["trials"], found["repeat"], found["jobs"], len(found["settings"])) == (12, 3, 2, 4)
    assert [one["params"]["window_bytes"] // 1024 for one in found["settings"]] == [8, 16, 32, 64]
    assert found["memory_bytes"] >= 2 * memory.BASE_BYTES
    assert found["fits"] and found["factor"] == 1
    assert cli.run(["explain", tiny]) == 0
    shown = capsys.readouterr().out
    assert "transfer.window" in shown and "trials     4 = 4 × 1" in shown
    assert "time       real: about" in shown and "no earlier run in this kind of time" in shown


def test_earlier_runs_in_the_same_kind_of_time_correct_the_time(
    tiny: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every trial of an earlier run took three times its price. So the next run is announced."""
    FakeTrials(monkeypatch, tmp_path)
    plan = load_plan(tiny)
    prices = sum(estimate.trial_s(one.setting) for one in plan.trials)
    run_dir = runner.resume(runner.start(plan, Path("runs"))).run_dir
    content = runs.manifest(run_dir)
    assert content["speed"]["trials"] == 4 and content["speed"]["factor"] < 0.5  # trials that measure nothing
    slow = [(one, 3 * estimate.trial_s(one.setting)) for one in plan.trials]
    write_json(run_dir / "manifest.json", content | speed.noted(slow, lambda one: estimate.trial_s(one.setting)))
    real, virtual = explained(capsys, tiny), explained(capsys, tiny, "--time", "virtual")
    assert real["factor"] == pytest.approx(3) and real["factor_trials"] == 4
    assert real["seconds"] == pytest.approx(3 * prices)
    assert (virtual["factor"], virtual["factor_trials"]) == (1, 0)
    said = io.StringIO()
    runner.resume(runner.start(plan, Path("runs")), Console(file=said, width=200))
    assert said.getvalue().startswith(f"tiny: 4 trials, about {estimate.spoken(3 * prices)}\n")


def test_only_the_newest_runs_say_how_fast_the_machine_is(tmp_path: Path) -> None:
    for day in range(1, 11):
        folder = tmp_path / f"x-201001{day:02d}T120000-abcdef"
        folder.mkdir()
        write_json(folder / "manifest.json", {"speed": {"factor": day, "trials": 2}})
    found = speed.measured(tmp_path, virtual=False)
    assert (found.factor, found.trials, found.runs) == (8, 10, 5)
    assert speed.measured(tmp_path, virtual=True) == speed.Speed()


def test_too_little_memory_is_said(
    tiny: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**20)
    assert not explained(capsys, tiny)["fits"]
    assert cli.run(["explain", tiny]) == 0
    assert "of 1 MB free: NOT ENOUGH" in capsys.readouterr().out


def test_captures_are_counted(tiny: str, capsys: pytest.CaptureFixture[str]) -> None:
    without, with_two = (
        load_plan(tiny, overrides=some).trials[0].setting for some in ([], ['capture.points=["snd", "rcv"]'])
    )
    packets = 1.5 * 2**20 / 1500
    assert forecast.disk_bytes(with_two) - forecast.disk_bytes(without) >= 2 * packets * 128
