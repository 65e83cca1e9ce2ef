"""Runs of earlier formats: every command that reads a run opens them. A run of a later lfp is refused in one line.

`tests/data/runs/format-N.tar.gz` is a small run of `before.toml` that the last lfp of format N made, without report.
"""

from __future__ import annotations

import csv
import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from support.page_texts import texts_of_page
from support.scenario_runs import FakeTrials
from support.served_dashboard import served

import lfp
from dashboard.server.app import Runs, page_at
from lfp import cli
from netcommon import run_format
from netcommon.errors import LfpError
from scenarios.plan import params
from scenarios.run import checks, manifest, plugins
from scenarios.virtual import boxes

DATA = Path(__file__).resolve().parents[2] / "data" / "runs"
EARLIER = range(run_format.OLDEST, run_format.VERSION)


@pytest.fixture(params=EARLIER, ids=lambda version: f"format {version}")
def run(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of an earlier format, in a folder of runs."""
    with tarfile.open(DATA / f"format-{request.param}.tar.gz") as packed:
        packed.extractall(tmp_path / "runs", filter="data")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs" / f"before-format-{request.param}"


def command(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str]:
    """Exit status and stdout; nothing is said on stderr."""
    capsys.readouterr()
    status = cli.run([str(word) for word in words])
    said = capsys.readouterr()
    assert said.err == "", said.err
    return status, said.out


def test_show_report_legs_and_certify_open_it(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, said = command(capsys, "show", run)
    assert status == 0 and "4 of 4 trials" in said and "12.13 Mbit/s" in said
    status, said = command(capsys, "show", run, "--json")
    trials = [json.loads(line) for line in said.splitlines()]
    assert status == 0 and [one["params"]["queue_bytes"] // 1024 for one in trials] == [15, 30, 15, 30]
    assert all(one["metrics"]["short_term_bps"] > 12e6 and one["verdict"]["valid"] for one in trials)
    assert command(capsys, "show", run, "--summary", "short_term_bps")[0] == 0
    status, said = command(capsys, "show", run, "--csv")
    rows = list(csv.DictReader(said.splitlines()))
    assert status == 0 and [int(row["queue_bytes"]) // 1024 for row in rows] == [15, 30, 15, 30]
    assert {row["run"] for row in rows} == {run.resolve().name} and all(row["valid"] == "true" for row in rows)
    assert command(capsys, "report", run, "--output", "report.html")[0] == 0
    assert "A small run of an earlier version" in Path("report.html").read_text()
    assert command(capsys, "report", run, "--markdown", "report.md", "--no-pictures")[0] == 0
    assert command(capsys, "legs", run, "0")[0] == 0
    assert command(capsys, "certify", run, "--output", "dossier")[0] == 1  # no record, but judged


def test_compare_and_history_open_it(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, said = command(capsys, "compare", run, run, "--json", "--allow-undecided")
    cells = [json.loads(line) for line in said.splitlines()]
    assert status == 0 and [cell["ratio"] for cell in cells] == [1, 1]
    assert command(capsys, "compare", run, "--by", "path.queue", "--allow-undecided")[0] == 0
    status, said = command(capsys, "history", "--runs-dir", run.parent, "--json")
    assert status == 0 and [json.loads(line)["trials"] for line in said.splitlines()] == [2, 2]
    assert command(capsys, "history", "--runs-dir", run.parent, "--plot", "history.html")[0] == 0


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeTrials:
    monkeypatch.setattr(checks, "require", lambda tools, settings, virtual: None)
    monkeypatch.setattr(plugins, "after_run", lambda run_dir: [])
    trials = FakeTrials(monkeypatch, tmp_path)
    trials.rate = lambda one: 12.1e6 + one.number
    return trials


def test_it_is_the_baseline_of_a_gate(run: Path, fake: FakeTrials, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["gate", str(run), str(DATA / "before.toml"), "--time", "real", "--allow-undecided", "--runs-dir", "new"]
    assert cli.run(line) == 0
    said = capsys.readouterr().out
    assert "scenario before passes" in said and f"| run | `{run.name}` | `before-" in said
    assert "2 undecided of 2 cells" in said


def test_python_opens_it(run: Path) -> None:
    opened = lfp.load(run)
    assert opened.valid and len(opened.trials) == 4
    assert opened.results().num_rows == 4 and opened.table("tcp_info").num_rows > 0
    assert opened.table("segments").num_rows > 0 and opened.trial(3).params["queue_bytes"] == 30 * 1024


def pages(run: Path) -> Iterator[str]:
    yield from ("/", "/history", f"/run/{run.name}", f"/run/{run.name}/trial/0", f"/compare/{run.name}/{run.name}")


def test_the_dashboard_opens_it(run: Path) -> None:
    runs = Runs(run.parent)
    for address in pages(run):
        said = " ".join(texts_of_page(page_at(runs, address)))
        assert "before" in said or "A small run of an earlier version" in said, address
        assert "not a run directory" not in said and "damaged" not in said, address


def later(run: Path) -> None:
    """Gives a run the number of the next format."""
    file = run / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"v": run_format.VERSION + 1}))


@pytest.mark.parametrize("words", [
    ["show", "RUN"], ["show", "RUN", "--json"], ["compare", "RUN", "RUN"], ["compare", "RUN", "--by", "path.queue"],
    ["report", "RUN"], ["report", "RUN", "--markdown", "x.md"], ["certify", "RUN"], ["legs", "RUN", "0"],
    ["tag", "RUN", "x"], ["run", "--resume", "RUN"], ["gate", "RUN", str(DATA / "before.toml")],
])  # fmt: skip
def test_a_run_of_a_later_lfp_is_refused_in_one_line(
    run: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    later(run)
    assert cli.run([str(run) if word == "RUN" else word for word in words]) == 2
    said = capsys.readouterr().err
    found = run_format.VERSION + 1
    assert said.count("\n") == 1 and f"{run}: written in format {found} of run directories; this lfp reads 1 to" in said


def test_python_and_the_dashboard_refuse_it_too(run: Path) -> None:
    later(run)
    with pytest.raises(LfpError, match="written in format"):
        lfp.load(run)
    for address in (f"/run/{run.name}", f"/run/{run.name}/trial/0"):
        with pytest.raises(LfpError, match="written in format"):  # which the page shows
            page_at(Runs(run.parent), address)


def test_history_and_dashboard_say_what_they_leave_out(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    other = Path(shutil.copytree(run, run.parent / "other"))
    later(other)
    with served(run):
        assert f"lfp: left out: {other}: written in format" in capfd.readouterr().err
    assert cli.run(["history", "--runs-dir", str(run.parent), "--json"]) == 0
    said = capfd.readouterr()
    assert len(said.out.splitlines()) == 2
    assert said.err.count("\n") == 1 and f"left out: {other}: written in format" in said.err


def test_every_file_of_a_new_run_says_its_version(
    fake: FakeTrials, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run(["run", str(DATA / "before.toml")]) == 0
    (made,) = Path("runs").iterdir()
    content: dict[str, Any] = json.loads((made / "manifest.json").read_text())
    said = parquet.read_schema(made / "results.parquet").metadata[run_format.METADATA]
    versions = [json.loads(file.read_text())["v"] for file in made.glob("trials/*/params.json")]
    assert {content["v"], int(said), *versions} == {run_format.VERSION}


def test_columns_that_meant_something_else_are_not_compared(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In format 1, `flow_share` was computed from averages over different times."""
    table = parquet.read_table(run / "results.parquet")
    shares = pa.array([0.5] * table.num_rows)
    parquet.write_table(table.drop(["flow_share"]).append_column("flow_share", shares), run / "results.parquet")
    assert cli.run(["compare", str(run), str(run), "--metric", "flow_share"]) == 2
    assert "has no such column; an older version wrote it" in capsys.readouterr().err
    status, said = command(capsys, "history", "--runs-dir", run.parent, "--metric", "flow_share", "--json")
    assert status == 0 and said == ""
    row = {"parallel": 4, "gateway": "none", "timeouts": 1, "limited_pacing": 0.5, "short_term_bps": 7.0}
    assert run_format.as_meant(row, 1) == row | {"timeouts": None, "limited_pacing": None}
    proxy = {"gateway": "lft", "gateway_model": "proxy", "timeouts": 1, "lost_queue": 3}
    assert run_format.as_meant(proxy, 1) == proxy | {"lost_queue": None}
    assert run_format.as_meant(row, 2) == row


def test_there_is_a_run_of_every_earlier_format() -> None:
    assert {int(file.stem.removesuffix(".tar").removeprefix("format-")) for file in DATA.glob("*.tar.gz")} == {*EARLIER}


def test_it_can_go_on(run: Path) -> None:
    """--resume makes the same plan again."""
    content = json.loads((run / "manifest.json").read_text())
    for trial in manifest.replan(content, run).trials:
        asked = json.loads((run / "trials" / f"{trial.number:04d}" / "params.json").read_text())
        again = params.of(boxes.settled(trial, content["virtual"]["box"]))
        assert {name: again.get(name) for name in asked} == asked
