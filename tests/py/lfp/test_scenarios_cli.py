"""The command `lfp`: exit statuses, one line for each error, plug-ins, signals, benches."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import EntryPoint
from pathlib import Path

import click
import pytest

import bench as bench_package
from bench import registry
from lfp import cli
from netcommon import unprivileged
from scenarios.run import checks, interrupt, plugins


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, list[str]]:
    """Exit status, stdout, lines of stderr."""
    status = cli.run(list(arguments))
    printed = capsys.readouterr()
    return status, printed.out, printed.err.splitlines()


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["run", "no-such"], 2, "scenario 'no-such'"),
        (["run"], 2, "name a scenario"),
        (["run", "lfp-seqack", "--quickk"], 2, "--quick"),
        (["run", "lfp-seqack", "--set", "path.delay=-1ms"], 2, "path.delay = '-1ms': negative"),
        (["run", "--resume", "last", "--quick"], 2, "--resume RUN"),
        (["frobnicate"], 2, "frobnicate"),
        (["show", "last", "--runs-dir", "/nonexistent"], 2, "no runs in /nonexistent"),
        (["bench", "delay.rtt21"], 2, "allowed: attack.load, attack.shares, cluster.cost, cluster.same"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, words: str
) -> None:
    found, out, err = run(capsys, *arguments)
    assert found == status
    assert len(err) == 1
    assert err[0].startswith("lfp: ")
    assert words in err[0]
    assert out == ""


def test_where_an_ordinary_user_has_no_real_time_status_3(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    forbidden = unprivileged.Obstacle("sysctl x = 0 forbids it", "sysctl x=1")
    monkeypatch.setattr(unprivileged, "obstacle", lambda: forbidden)
    status, _, err = run(capsys, "run", "lfp-seqack")
    assert (status, len(err)) == (3, 1)
    assert "sysctl x = 0 forbids it; use --time virtual" in err[0]
    assert "as root 'sysctl x=1', or run it as root" in err[0]


def test_an_ordinary_user_begins_again_in_namespaces_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(unprivileged, "obstacle", lambda: None)
    monkeypatch.setattr(checks, "namespaces", lambda: [])
    monkeypatch.setattr(checks, "tools", lambda names: [])
    monkeypatch.setattr(checks, "programs", lambda: [])
    monkeypatch.setattr(checks, "kernel_features", lambda: [])
    with pytest.raises(unprivileged.Outside):
        cli.run(["run", "lfp-seqack", "--runs-dir", str(tmp_path / "runs")])
    assert not (tmp_path / "runs").exists()  # nothing is made before


def test_a_missing_tool_is_status_3(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("LFP_COMET_DELAY", "/nowhere")
    status, _, err = run(capsys, "run", "lfp-seqack", "--runs-dir", str(tmp_path / "runs"))
    assert (status, len(err)) == (3, 1)
    assert "LFP_COMET_DELAY=/nowhere" in err[0]
    assert not (tmp_path / "runs").exists()


def test_list_shows_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "list")
    assert status == 0
    assert any(line.startswith("lfp-syndrome") and "lfp-1995/fig3" in line for line in out.splitlines())


def test_other_packages_add_commands(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("hello", f"{__name__}:hello", plugins.COMMANDS)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point] if group == plugins.COMMANDS else [])
    monkeypatch.setattr(EntryPoint, "load", lambda self: hello)
    assert "hello" in run(capsys, "--help")[1]
    assert run(capsys, "hello")[:2] == (0, "hello\n")


@click.command("hello")
def hello() -> None:
    """Say hello."""
    click.echo("hello")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_unwinds_and_later_ones_do_not_cut_it_short(number: signal.Signals) -> None:
    steps = []
    before = signal.getsignal(number)
    with pytest.raises(interrupt.Interrupted) as caught, interrupt.orderly():
        try:
            os.kill(os.getpid(), number)
            steps.append("went on")
        finally:
            os.kill(os.getpid(), number)
            steps.append("cleaned up")
    assert steps == ["cleaned up"]
    assert caught.value.status == 128 + number
    assert signal.getsignal(number) is before


def test_a_signal_that_arrives_in_a_finaliser_is_not_lost() -> None:
    """Python drops what a finaliser raises."""

    class Finalised:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0)  # here the handler runs

    def waits() -> None:
        held = Finalised()
        del held
        time.sleep(60)
        pytest.fail("the signal was lost")

    with pytest.raises(interrupt.Interrupted) as caught, interrupt.orderly():
        waits()
    assert caught.value.status == 128 + signal.SIGTERM


def test_a_signal_gives_its_status(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(checks, "everything", interrupted)
    status, _, err = run(capsys, "doctor")
    assert status == 130
    assert err[-1] == "lfp: ended by SIGINT"


def test_bench_figures_are_medians_of_pairs() -> None:
    pairs = [{"ours": o, "base": b} for o, b in ((4e9, 10e9), (6e9, 10e9), (9e9, 30e9))]
    result = registry.Result("delay.rtt20", "bit/s", "veth", pairs)
    line = json.loads(json.dumps(result.as_json()))
    assert (line["ours"], line["base"], line["ratio"]) == (6e9, 10e9, 0.4)
    assert (line["name"], line["unit"], line["base_name"]) == ("delay.rtt20", "bit/s", "veth")
    assert line["pairs"] == pairs
    assert line["machine"]["cores"] == os.cpu_count()
    assert "ratio 0.400" in result.row()


def test_every_bench_module_is_found() -> None:
    assert {"delay.rtt20", "delay.rtt498"} <= set(registry.load())
    assert bench_package.__doc__


def test_every_verb_stands_in_a_group_of_the_help() -> None:
    files = {file.stem for file in (Path(cli.__file__).parent / "commands").glob("[!_]*.py")}
    assert set(cli.VERBS) == files
    assert len(cli.VERBS) == len(files)


def test_help_loads_no_verb_of_ours() -> None:
    code = "import sys; from lfp import cli; cli.run(['--help']); sys.exit('numpy' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert "Results:\n  show" in shown
    assert "dashboard" in shown


def test_a_misspelt_verb_has_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["lsit"]) == 2
    assert "Did you mean 'list'?" in capsys.readouterr().err


def test_the_man_page_knows_every_option() -> None:
    page = (Path(cli.__file__).parent / "lfp.1").read_text().replace("\\-", "-")
    for verb in cli.VERBS:
        command = cli.lfp.get_command(click.Context(cli.lfp), verb)
        assert command
        assert f"lfp {verb}" in page
        for parameter in command.params:
            for option in parameter.opts:
                assert not option.startswith("--") or option in page, f"{verb} {option}"


def test_hooks_after_a_run_give_the_paths_they_wrote(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    points = [EntryPoint(name, "x:y", plugins.AFTER_RUN) for name in ("report", "nothing")]
    hooks = {"report": lambda run_dir: run_dir / "report.html", "nothing": lambda run_dir: None}
    monkeypatch.setattr(plugins, "entry_points", lambda group: points if group == plugins.AFTER_RUN else [])
    monkeypatch.setattr(EntryPoint, "load", lambda self: hooks[self.name])
    assert plugins.after_run(tmp_path) == [tmp_path / "report.html"]
