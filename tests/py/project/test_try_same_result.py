"""tools/try-same-result: its messages before it does anything, what it keeps, and its verdict. Its runs take an hour,
so another program replaces lfp here, which writes the requested results."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TRY = Path(__file__).resolve().parents[3] / "tools" / "try-same-result"
WAYS = ("here", "jobs", "folder")
LFP = """#!{python}
import os, pathlib, sys
import pyarrow, pyarrow.parquet
words = sys.argv
with open({calls!r}, "a") as calls:
    print({way!r}, *words[1:], file=calls)
{then}
run = pathlib.Path(words[words.index("--runs-dir") + 1]) / "run"
run.mkdir(parents=True)
(run / "manifest.json").write_text("{{}}")
rows = [{{"trial": trial, "flow": 0, "state": "done", "short_term_bps": {bps} + trial}} for trial in range(2)]
pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), run / "results.parquet")
"""


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("try_same_result", str(TRY))
    spec = importlib.util.spec_from_loader("try_same_result", loader)
    assert spec
    found = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TRY.parent))
        patch.setitem(sys.modules, "try_same_result", found)
        patch.setattr(sys, "dont_write_bytecode", True)
        loader.exec_module(found)
    return found


@pytest.fixture(autouse=True)
def no_kernel(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool.kernel, "require", lambda: Path("/nonexistent"))


def way(tool: ModuleType, folder: Path, name: str, bps: float = 1e7, then: str = "") -> Any:
    own = folder / f"way-{name}"
    own.mkdir(exist_ok=True)
    program = own / "python"
    program.write_text(LFP.format(python=sys.executable, calls=str(folder / "calls"), way=name, bps=bps, then=then))
    program.chmod(0o755)
    return tool.Way(program, None, own)


def table(tool: ModuleType, folder: Path, ways: dict[str, Any], *, seconds: float = 600) -> Any:
    return tool.Table(folder / "results", ways, time.monotonic() + seconds)


def calls(folder: Path) -> list[str]:
    file = folder / "calls"
    return [line.split()[0] for line in file.read_text().splitlines()] if file.exists() else []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["jbos", "--folder", "/tmp"], "way jbos: neither one of jobs, folder,"),
        (["jobs", "--folder", "/nonexistent/folder"], "--folder /nonexistent/folder"),
        (["jobs", "--folder", "/tmp", "--budget", "0"], "--budget 0"),
        (["jobs", "--folder", "/tmp", "--at-once", "0"], "--at-once 0"),
        (["jobs", "--folder", "/tmp", "--scenario", "lfp-seqakc"], "--scenario lfp-seqakc: not one of lfp-seqack,"),
        (["jobs"], "--folder"),
    ],
)
def test_a_wrong_word_is_a_usage_error(words: list[str], said: str) -> None:
    done = subprocess.run([sys.executable, TRY, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]


def test_it_runs_twenty_scenarios_of_the_library(tool: ModuleType) -> None:
    """Each scenario can be planned with the settings that make it short."""
    from scenarios.plan.plan import load_plan

    root = TRY.parents[1]
    planned = {
        name: load_plan(str(root / name) if name.endswith(".toml") else name, quick=True, overrides=sets)
        for name, sets in tool.SCENARIOS.items()
    }
    assert all(plan.trials for plan in planned.values())
    assert len([name for name in planned if not name.endswith(".toml")]) >= 20


def test_all_ways_get_the_same_seed_and_scenario(tool: ModuleType, tmp_path: Path) -> None:
    ways = {name: way(tool, tmp_path, name) for name in WAYS}
    found = table(tool, tmp_path, ways)
    for name in WAYS:
        found.run(name, "lfp-line")
    said = [
        line.partition(" --runs-dir")[0].partition(" ")[2] for line in (tmp_path / "calls").read_text().splitlines()
    ]
    assert len(said) == 3 and len(set(said)) == 1
    assert "run lfp-line --time virtual --seed 1995 --quick" in said[0]


def test_results_that_are_kept_are_not_made_again(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ways = {name: way(tool, tmp_path, name) for name in WAYS}
    table(tool, tmp_path, ways).run("here", "lfp-line")
    again = table(tool, tmp_path, ways)
    for name in WAYS:
        again.run(name, "lfp-line")
    assert calls(tmp_path) == ["here", "jobs", "folder"]
    assert again.say("lfp-line") and "lfp-line, 2 rows: equal in jobs, folder" in capsys.readouterr().out


def test_a_run_that_failed_or_was_interrupted_is_made_again(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files that the run left do not count, and the table has the last line that lfp printed."""
    wrote = "pathlib.Path(words[words.index('--runs-dir') + 1], 'part').mkdir(parents=True)\n"
    fails = way(tool, tmp_path, "jobs", then=wrote + "sys.exit('lfp: no memory')")
    ways = {"here": way(tool, tmp_path, "here"), "jobs": fails}
    found = table(tool, tmp_path, ways)
    for name in ways:
        found.run(name, "lfp-line")
    assert not found.say("lfp-line") and "jobs: no results: lfp: no memory" in capsys.readouterr().out
    way(tool, tmp_path, "jobs")
    for name in ways:
        found.run(name, "lfp-line")
    assert calls(tmp_path) == ["here", "jobs", "jobs"] and found.say("lfp-line")


def test_a_difference_names_way_trial_and_column(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = way(tool, tmp_path, "folder", bps=10000000.000000002)
    ways = {"here": way(tool, tmp_path, "here"), "jobs": way(tool, tmp_path, "jobs"), "folder": other}
    found = table(tool, tmp_path, ways)
    for name in ways:
        found.run(name, "lfp-line")
    assert not found.say("lfp-line")
    said = capsys.readouterr().out
    assert "lfp-line, 2 rows: equal in jobs; folder: 2 rows differ, trial 0 flow 0 in short_term_bps" in said


def test_what_the_budget_leaves_out_is_not_called_equal(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = table(tool, tmp_path, {name: way(tool, tmp_path, name) for name in WAYS}, seconds=-1)
    for name in WAYS:
        found.run(name, "lfp-line")
    assert not found.say("lfp-line") and not calls(tmp_path)
    assert "jobs: not run; folder: not run" in capsys.readouterr().out


def test_results_belong_to_one_product(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program or kernel begins new results; another folder does not."""
    tools = {name: tmp_path / name for name in ("rttcp", "linux")}
    for file in tools.values():
        file.write_bytes(b"1")
    monkeypatch.setattr(tool.kernel, "require", lambda: tools["linux"])
    monkeypatch.setattr(tool, "own_tools", lambda: {"RTTCP": str(tools["rttcp"])})
    first = tool.product()
    assert tool.product() == first
    for name in tools:
        tools[name].write_bytes(b"2")
        assert tool.product() != first
        tools[name].write_bytes(b"1")
    elsewhere = tmp_path / "moved" / "linux"
    elsewhere.parent.mkdir()
    tools["linux"] = tools["linux"].rename(elsewhere)
    assert tool.product() == first
