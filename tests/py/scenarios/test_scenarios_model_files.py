"""Files that a path's models name: they are found next to the scenario, checked before a run, copied into it, and
identified by their content."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

import lfp
from netcommon.errors import UsageError
from scenarios.cluster import carried
from scenarios.plan import model_files, params
from scenarios.plan.plan import Plan, load_plan
from scenarios.run import machine, manifest, runner
from scenarios.run.time_choice import TimeChoice

SCENARIO = """\
[scenario]
name = "traced"
[path]
delay = "5ms"
rate = "20Mbit"
queue = "64KB"
jitter = "trace:jitter.txt"
change = "1s jitter=trace:traces/late.txt; 2s ba_rate_trace=mahimahi:lte.trace"
[transfer]
bytes = "200KB"
[sweep]
"path.ba_jitter" = ["table:traces/wifi, home.txt,25%", "none"]
[quick]
path.jitter = "dist:wifi.dist,2ms"
[[expect]]
say = "it arrives"
min = "1Mbit"
where = { "path.ba_jitter" = "table:traces/wifi, home.txt,25%" }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scenario and its files in a folder that is not the current one."""
    own = tmp_path / "mine"
    (own / "traces").mkdir(parents=True)
    (own / "traced.toml").write_text(SCENARIO)
    for name in ("jitter.txt", "traces/late.txt", "traces/wifi, home.txt"):
        (own / name).write_text("1ms\n2ms\n0.5ms\n")
    (own / "lte.trace").write_text("1\n2\n3\n")
    (own / "wifi.dist").write_text("-8192 0 8192 12000\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return own


def load(folder: Path, **more: Any) -> Plan:
    return load_plan(str(folder / "traced.toml"), seed=1, **more)


def test_files_stand_beside_the_scenario(folder: Path) -> None:
    first, second = (trial.setting.path for trial in load(folder).trials)
    assert first.jitter == f"trace:{folder}/jitter.txt"
    assert first.direction("ba").values["jitter"] == f"table:{folder}/traces/wifi, home.txt,25%"
    assert second.direction("ba").values["jitter"] == "none"
    at_1s, at_2s = first.changes()
    assert at_1s.ab["jitter"] == f"trace:{folder}/traces/late.txt"
    assert at_2s.ba["rate_trace"] == f"mahimahi:{folder}/lte.trace"
    assert load(folder, quick=True).base.path.jitter == f"dist:{folder}/wifi.dist,2ms"


def test_on_the_command_line_and_from_python_they_are_relative_to_the_current_folder(folder: Path) -> None:
    Path("here.txt").write_text("1ms\n")
    assert load(folder, overrides=["path.jitter=trace:here.txt"]).base.path.jitter == f"trace:{Path.cwd()}/here.txt"
    made = lfp.Scenario(path={"delay": "5ms", "jitter": "trace:here.txt"}, transfer={"bytes": "1MB"})
    assert made.plan(1).base.path.jitter == f"trace:{Path.cwd()}/here.txt"
    (folder / "jitter.txt").rename("jitter.txt")  # the current folder is searched, too
    assert load(folder).base.path.jitter == f"trace:{Path.cwd()}/jitter.txt"


@pytest.mark.parametrize("name", ["jitter.txt", "traces/late.txt", "traces/wifi, home.txt", "lte.trace"])
def test_a_file_that_is_missing_is_one_line_before_the_run(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(UsageError) as caught:
        load(folder)
    said = str(caught.value)
    assert "\n" not in said and f"{folder}/traced.toml:" in said and f"{folder}/{name}: No such file" in said


def start(folder: Path, runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, dict[str, Any]]:
    """A run that has not begun."""
    monkeypatch.setattr(machine, "hashes", lambda files: {})
    run_dir = runner.start(load(folder), runs_dir, choice=TimeChoice.given("real"))
    return run_dir, json.loads((run_dir / "manifest.json").read_text())


def test_a_run_carries_its_files(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [params.of(trial) for trial in load(folder).trials]
    run_dir, content = start(folder, tmp_path / "runs", monkeypatch)
    assert sorted(Path(name).name for name in content["files"]) == [
        "jitter.txt",
        "late.txt",
        "lte.trace",
        "wifi, home.txt",
    ]
    assert str(folder) not in json.dumps(content["scenario"])
    for name, digest in content["files"].items():
        assert hashlib.sha256((run_dir / name).read_bytes()).hexdigest() == digest
    for file in sorted(folder.rglob("*.t*")):
        file.unlink()
    moved = run_dir.rename(tmp_path / "moved")
    os.chdir("/")
    again = manifest.replan(content, moved)
    assert again.base.path.jitter.startswith(f"trace:{moved}/files/")
    assert [params.of(trial) for trial in again.trials] == asked


def test_a_setting_takes_its_files_to_another_machine(folder: Path, tmp_path: Path) -> None:
    """A cluster's worker gets the files in the same way."""
    trial = load(folder).trials[0]
    asked, files = params.of(trial), carried.contents(trial.setting)
    assert files[f"{folder}/lte.trace"] == b"1\n2\n3\n" and len(files) == 4
    for file in sorted(folder.rglob("*.t*")):
        file.unlink()
    there = carried.placed(trial.setting, files, tmp_path / "worker")
    assert there.path.jitter.startswith(f"trace:{tmp_path}/worker/files/")
    assert params.of(dataclasses.replace(trial, setting=there)) == asked
    assert carried.contents(there).keys() != files.keys()


def test_results_know_a_file_by_its_content(folder: Path) -> None:
    """The same trace in two files is one setting; another trace of the same name is another setting."""
    (trial, _), column = load(folder).trials, "jitter"
    first = params.of(trial)[column]
    assert isinstance(first, str) and re.fullmatch(r"trace:jitter\.txt@[0-9a-f]{12}", first)
    os.utime(folder / "jitter.txt", (0, 0))
    assert params.of(load(folder).trials[0])[column] == first
    (folder / "jitter.txt").write_text("3ms\n")
    assert params.of(load(folder).trials[0])[column] != first


def test_an_expectation_finds_the_setting_by_the_files_name(folder: Path) -> None:
    plan = load(folder)
    rows = [params.of(trial) for trial in plan.trials]
    assert [plan.base.expect[0].picks(row) for row in rows] == [True, False]


@pytest.mark.parametrize("text", ["none", "2ms", "normal:2ms,25%", "rate:0s=10Mbit,5s=1Mbit", "gilbert:1%", "trace:"])
def test_other_models_stay_as_they_are(text: str) -> None:
    assert model_files.beside({"path": {"jitter": text, "rate_trace": text}}, Path("/x")) == {
        "path": {"jitter": text, "rate_trace": text}
    }
    assert model_files.column(text) == text
