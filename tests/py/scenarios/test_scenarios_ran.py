"""The hashes of each trial show that the intended programs ran; a run ends when its trials all fail in the same way."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from support.scenario_runs import TINY, FakeTrials

from lfp import cli
from netcommon.errors import LfpError, UsageError
from netcommon.process import Tool
from scenarios.plan import gateway_commands
from scenarios.plan.document import Document
from scenarios.plan.plan import Plan, make_plan
from scenarios.run import checks, plugins, ran
from scenarios.trial import programs

GATEWAY = '[gateway]\nkind = "command"\nmodel = "proxy"\nnear = "$gateway --to $far"\nfar = "$gateway --serve"\n'


def build(folder: Path, name: str) -> Path:
    file = folder / name
    file.write_text(f"#!/bin/sh\n# {name}\n")
    file.chmod(0o755)
    return file


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def plan(near: str = "$gateway --to $far") -> Plan:
    return make_plan(Document("x", {
        "scenario": {"name": "x"}, "path": {"delay": "5ms"}, "transfer": {"bytes": "1MB"},
        "gateway": {"kind": "command", "model": "proxy", "near": near, "far": near},
    }), 1)  # fmt: skip


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeTrials:
    monkeypatch.setattr(checks, "require", lambda tools, settings, virtual: None)
    monkeypatch.setattr(plugins, "after_run", lambda run_dir: [])
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(TINY + GATEWAY)
    return FakeTrials(monkeypatch, tmp_path)


def test_the_word_gateway_is_the_program_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = build(tmp_path, "old"), build(tmp_path, "new")
    for file in (old, new):
        monkeypatch.setenv(gateway_commands.VARIABLE, str(file))
        assert programs.hashes(plan().trials[0].setting) == {"gateway": digest(file)}
    ran.check_plan("--gateway", new, plan())
    with pytest.raises(UsageError, match=r"--gateway \S+/old: scenario x does not start it: 1 of 1 trials .* gateway "):
        ran.check_plan("--gateway", old, plan())
    with pytest.raises(UsageError, match="not a program that can be run"):
        ran.check_plan("--gateway", tmp_path / "nothing", plan())
    wrapped = programs.hashes(plan("sh -c 'exec $gateway --to $far'").trials[0].setting)
    assert set(wrapped) == {"sh", "gateway"} and wrapped["gateway"] == digest(new)
    assert "gateway" not in programs.hashes(plan("sh -c 'exec $$gateway'").trials[0].setting)
    monkeypatch.delenv(gateway_commands.VARIABLE)
    assert gateway_commands.missing([plan().trials[0].setting]) == {"": ["$gateway"]}


def test_a_program_that_is_replaced_during_a_trial_is_not_what_ran(tmp_path: Path) -> None:
    tool = build(tmp_path, "tool")
    setting = plan(f"{tool} --to $far").trials[0].setting
    before = programs.hashes(setting)
    assert programs.after(before, setting) == before == {str(tool): digest(tool)}
    tool.write_text("#!/bin/sh\nexit 1\n")
    assert programs.after(before, setting) == {str(tool): programs.CHANGED}


def trials_say(run: Path, *found: dict[str, str]) -> None:
    """Writes the hashes of programs into the trials of a run."""
    for folder, one in zip(sorted((run / "trials").iterdir()), found, strict=True):
        status = json.loads((folder / "status.json").read_text())
        (folder / "status.json").write_text(json.dumps(status | {"programs": one}))


def test_the_hashes_of_the_trials_decide(
    fake: FakeTrials, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = build(tmp_path, "old"), build(tmp_path, "new")
    monkeypatch.setenv(gateway_commands.VARIABLE, str(old))
    assert cli.run(["run", "tiny.toml", "--runs-dir", "base", "--gateway", str(old)]) == 0
    base = next(Path("base").iterdir())
    assert json.loads((base / "manifest.json").read_text())["hashes"]["gateway"] == digest(old)
    # trials of earlier versions have no hashes, so the manifest's count
    assert ran.objection("--gateway", old, base) is None
    trials_say(base, *[{"gateway": digest(old)}] * 4)
    assert ran.objection("--gateway", old, base) is None
    said = ran.objection("--gateway", new, base)
    assert said and f"did not run {new}" in said
    assert f"4 of 4 trials with gateways ran gateway {digest(old)[:12]}" in said
    trials_say(base, *[{"gateway": digest(old)}] * 3, {"gateway": programs.CHANGED})
    said = ran.objection("--gateway", old, base)
    assert said and "1 of 4 trials with gateways ran gateway changed during the trial" in said
    trials_say(base, *[{}] * 4)
    assert str(ran.objection("--gateway", old, base)).endswith("no trial has a gateway")
    fake.ran.clear()
    capsys.readouterr()
    assert cli.run(["gate", str(base), "tiny.toml", "--baseline-gateway", str(old), "--gateway", str(old)]) == 2
    assert capsys.readouterr().err.count("\n") == 1 and not fake.ran
    trials_say(base, *[{"gateway": digest(old)}] * 4)
    assert cli.run(["gate", str(base), "tiny.toml", "--gateway", str(new)]) == 2  # the environment names another
    assert "does not start it" in capsys.readouterr().err and not fake.ran


def test_a_gate_ends_after_three_trials_that_fail_alike(
    fake: FakeTrials, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(gateway_commands.VARIABLE, str(build(tmp_path, "old")))
    assert cli.run(["run", "tiny.toml", "--runs-dir", "base"]) == 0
    fake.ran.clear()
    fake.fail = {0, 1, 2, 3}
    capsys.readouterr()
    assert cli.run(["gate", str(next(Path("base").iterdir())), "tiny.toml", "--markdown", "gate.md"]) == 1
    assert len(fake.ran) == 3
    error = capsys.readouterr().err.splitlines()[-1]
    assert "gave up after 3 trials that failed alike: rttcp: no route" in error
    markdown = Path("gate.md").read_text()
    assert "does not pass\n\n- tiny-" in markdown and "rttcp: no route\n" in markdown


def test_one_success_or_another_message_lets_a_run_go_on(fake: FakeTrials, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(gateway_commands.VARIABLE, "true")
    fake.fail = {0, 2, 3}
    assert cli.run(["run", "tiny.toml", "--give-up", "3"]) == 1
    assert len(fake.ran) == 4
    fake.ran.clear()
    fake.fail = {0, 1, 2, 3}
    assert cli.run(["run", "tiny.toml"]) == 1 and len(fake.ran) == 4  # nobody asked for it


@pytest.mark.parametrize("script", ["echo cannot bind >&2; exit 3", "echo starting; echo cannot bind; exit 0"])
def test_a_failure_has_the_last_line_of_the_program(script: str, tmp_path: Path) -> None:
    with Tool(["sh", "-c", script], name="near-gateway", json_lines=False) as tool:
        tool.said("never", 30)
        error = tool.failed("ended at once")
    assert "near-gateway: ended at once, exit status" in str(error) and "(cannot bind)" in str(error)
    assert isinstance(error, LfpError) and error.status == 1
