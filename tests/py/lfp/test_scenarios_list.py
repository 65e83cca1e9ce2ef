"""`lfp list`, whose table comes from an index, and the folder of runs that every verb finds."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import lfp
from lfp import cli
from scenarios.plan import library_index
from scenarios.run import plain

ROOT = Path(__file__).resolve().parents[3]


def test_the_index_is_what_the_plans_say() -> None:
    kept = library_index.INDEX.read_text(encoding="utf-8")
    assert kept == library_index.text(), "the library has changed; run .venv/bin/python tools/library-index"


def test_a_changed_library_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = library_index.worked_out()[:1]
    monkeypatch.setattr(library_index, "worked_out", lambda: changed)
    assert len(library_index.entries()) > 50
    monkeypatch.setattr(library_index, "fingerprint", lambda: "another")
    assert library_index.entries() == changed


def test_the_library_is_listed_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    assert {one.group for one in library_index.entries()} == set(library_index.GROUPS)
    assert {one.group for one in library_index.entries() if not one.paper} == {"today", "teaching", "checks"}
    assert cli.run(["list"]) == 0
    headings = [line for line in capsys.readouterr().out.splitlines() if line.partition(":")[0] in library_index.GROUPS]
    assert [line.partition(":")[0] for line in headings] == list(library_index.GROUPS)
    assert cli.run(["list", "today"]) == 0
    out = capsys.readouterr().out
    assert "today-policer" in out and "comet-fig1" not in out
    assert cli.run(["list", "yesterday"]) == 2
    assert "papers" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["list"], ["--version"], ["show", "--help"]])
def test_what_must_be_fast_loads_nothing_that_takes_time(arguments: list[str]) -> None:
    heavy = ("pydantic", "numpy", "pyarrow", "rich", "scipy", "duckdb", "mininet", "pyroute2")
    code = (
        f"import sys; from lfp.cli import run; status = run({arguments}); "
        f"print([m for m in {heavy} if m in sys.modules], file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "[]\n")
    assert done.stdout


def test_columns_line_up_where_characters_are_wide(capsys: pytest.CaptureFixture[str]) -> None:
    plain.print_table(plain.Plain(), ("a", "b"), [("窓", "1"), ("µs ×", "2"), ("e\u0301", "3")])
    assert capsys.readouterr().out.splitlines() == ["a     b", "窓    1", "µs ×  2", "e\u0301     3"]


def test_the_variable_names_the_folder_of_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with tarfile.open(ROOT / "tests/data/runs/format-1.tar.gz") as archive:
        archive.extractall(tmp_path / "mine", filter="data")
    monkeypatch.chdir(tmp_path)
    assert cli.run(["show", "last"]) == 2
    monkeypatch.setenv("LFP_RUNS_DIR", str(tmp_path / "mine"))
    assert cli.run(["show", "last"]) == 0
    assert cli.run(["tag", "last"]) == 0
    assert cli.run(["show", "befor-format"]) == 2
    assert "did you mean 'before-format-1'?" in capsys.readouterr().err
    assert lfp.load().path.parent == tmp_path / "mine"
    assert cli.run(["show", "last", "--runs-dir", "other"]) == 2  # what is said counts
    assert "no runs in other" in capsys.readouterr().err
