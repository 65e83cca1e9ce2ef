"""`lfp history`: one metric over runs that nobody measured, by cell and by the build that was measured."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.page_texts import texts_of_page
from support.synthetic_results import rows as synthetic_rows
from support.synthetic_results import write_plan

from dashboard.history.table import Asked
from dashboard.server.app import Runs, page_at
from lfp import cli
from netcommon import binaries
from scenarios.plan.document import Document
from scenarios.plan.plan import make_plan
from scenarios.run import machine, manifest

PLAN = make_plan(Document("x", {
    "scenario": {"name": "x"}, "path": {"delay": "5ms"}, "transfer": {"bytes": "1MB"}, "run": {"repeat": 3},
    "sweep": {"path.queue": ["30KB", "60KB"]},
}), 1)  # fmt: skip


def write_run(folder: Path, started_s: int, mbit: list[float], scenario: str = "x", **more: Any) -> Path:
    """A run whose cells have these throughputs; repeats lie 1 % around them, and one more trial is not valid."""
    found = []
    for row in synthetic_rows(PLAN, random.Random(1)):
        mean = mbit[row["trial"] % 2] * (1 + 0.01 * (row["repeat"] - 1))
        found.append(row | {"valid": True, "short_term_bps": 1e6 * mean})
    found.append(found[0] | {"trial": 6, "valid": False, "short_term_bps": 1e12})
    return write_plan(folder, PLAN, found, name=scenario, started_realtime_ns=started_s * 10**9, **more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three runs of one scenario, written out of order and at two depths, and one of another."""
    write_run(tmp_path / "x-b", 200, [11, 20], hashes={"lft-gateway": "b" * 64}, commits={"lft-gateway": "c0ffee"})
    write_run(tmp_path / "old" / "x-a", 100, [10, 20], hashes={"lft-gateway": "a" * 64})
    write_run(tmp_path / "x-v", 300, [50, 60], virtual={"box": "netem"})
    write_run(
        tmp_path / "y-a", 400, [7, 8], "y", hashes={"lft-gateway": "d" * 64}, commits={"lft-gateway": "f00-dirty"}
    )
    return tmp_path


def history(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert cli.run(["history", "--runs-dir", str(folder), "--json", *arguments]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_cells_from_the_oldest_run_to_the_newest(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = history(folder, capsys, "--scenario", "x")
    seen = [(one["run"], one["setting"]["queue_bytes"] // 1024, one["median"] / 1e6, one["trials"]) for one in found]
    assert seen == [
        ("x-a", 30, 10, 3),
        ("x-a", 60, 20, 3),
        ("x-b", 30, 11, 3),
        ("x-b", 60, 20, 3),
        ("x-v", 30, 50, 3),
        ("x-v", 60, 60, 3),
    ]
    ratios = [one["ratio"] for one in found]
    assert ratios[:2] == [None, None] and ratios[2:4] == pytest.approx([1.1, 1])
    assert ratios[4:] == [None, None]  # virtual time is never compared with real time
    assert found[0]["min"] == pytest.approx(9.9e6) and found[0]["max"] == pytest.approx(10.1e6)


def test_the_table_names_the_builds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["history", "--runs-dir", str(folder)]) == 0
    of_x, of_y = capsys.readouterr().out.split("\n\n")
    rows = [line.split() for line in of_x.splitlines()[2:]]
    assert [row[:3] for row in rows[:2]] == [["30", "KB", "real"], ["30", "KB", "real"]]
    assert ["a" * 12 in row for row in rows[:2]] == [True, False] and "c0ffee" in rows[1]
    assert rows[1][-2:] == ["1.1,", "undecided"]
    assert "d" * 12 in of_y and "dirty" not in of_y  # a commit with local changes does not identify the build


def test_a_change_needs_more_than_a_ratio(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With six repeats that lie within 5 %, the cell with a queue of 30 KB counts as the same, and the cell with 60 KB
    as changed. With repeats that lie 60 % apart, the same medians decide nothing."""
    plan = make_plan(Document("x", PLAN.echo | {"run": {"repeat": 6}}), 1)
    for number, (mbit, spread) in enumerate((([10, 20], 0.01), ([10, 16], 0.01), ([10, 16], 0.3))):
        rows = [row | {"valid": True} for row in synthetic_rows(plan, random.Random(number))]
        for row in rows:
            mean = 1e6 * mbit[row["trial"] % 2]
            row["short_term_bps"] = mean * (1 + spread * (row["repeat"] - 2.5) / 2.5 + number * 1e-4)
        write_plan(tmp_path / f"r{number}", plan, rows, name="x", started_realtime_ns=number * 10**9)
    found = history(tmp_path, capsys)
    assert [one["change"] for one in found] == [None, None, "same", "changed", "undecided", "undecided"]
    assert all((one["interval"] is None) == (one["ratio"] is None) for one in found)
    assert [one["change"] for one in history(tmp_path, capsys, "--margin", "40%")][2:4] == ["same", "same"]


def test_the_plot_has_a_panel_for_each_scenario_and_kind_of_time(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "history.html"
    assert cli.run(["history", "--runs-dir", str(folder), "--plot", str(file)]) == 0
    assert capsys.readouterr().out.strip() == str(file)
    page = file.read_text().replace("\\u002f", "/")  # as plotly writes a slash
    assert page.count("Plotly.newPlot(") == 3
    assert all(f"{title} time" in page for title in ("x, real", "x, virtual", "y, real"))
    assert "11 Mbit/s" in page and "ratio to previous run: 1.1, undecided" in page and "c0ffee" in page
    assert 'src="http' not in page and "1 Tbit/s" not in page  # the trial that is not valid


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--json", "--plot", "x.html"], "--plot: not with --json"), (["--plot", "no/x.html"], "--plot no/x.html: ")],
)
def test_a_plot_that_cannot_be_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert cli.run(["history", "--runs-dir", str(folder), *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_only_the_newest_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert {one["run"] for one in history(folder, capsys, "--last", "2")} == {"x-v", "y-a"}


def test_cpu_time_of_virtual_time_is_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert history(folder, capsys, "--metric", "retransmits", "--scenario", "x")[-1]["run"] == "x-v"
    assert not history(folder, capsys, "--metric", "cpu_sender_ns")  # only runs in virtual time are left


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--metric", "speed"], "--metric speed: not a measured column"),
        (["--scenario", "z"], "--scenario z: no run of it in"),
        (["--runs-dir", "nowhere"], "no run with results in nowhere"),
        (["--metric", "cpu_sender_ns"], "no valid trial with cpu_sender_ns"),
    ],
)
def test_wrong_usage_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert cli.run(["history", "--runs-dir", str(folder), *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A Git checkout with a built program."""
    program = tmp_path / "mine" / "build" / "proxy"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for line in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(tmp_path / "mine"), *line], check=True)
    return program


def test_a_run_knows_the_commit_of_the_checkout_of_a_program(checkout: Path, tmp_path: Path) -> None:
    commit = machine.commits({"proxy": checkout})["proxy"]
    assert len(commit) == 12 and int(commit, 16)
    checkout.write_text("#!/bin/sh\nexit 1\n")
    assert machine.commits({"proxy": checkout})["proxy"] == f"{commit}-dirty"
    (tmp_path / "outside").mkdir()
    assert "proxy" not in machine.commits({"proxy": checkout.rename(tmp_path / "outside" / "proxy")})


def test_the_programs_of_a_foreign_gateway_are_known(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    near, far = f"{checkout} --to $far", "sh -c 'no-such-program & wait'"
    values = {"scenario": {"name": "x"}, "path": {"delay": "5ms"}, "transfer": {"bytes": "1MB"}}
    plan = make_plan(Document("x", values | {"gateway": {"kind": "command", "near": near, "far": far}}), 1)
    monkeypatch.setattr(binaries, "find", lambda name: checkout)
    files = manifest.programs(plan)
    assert set(files) == {"comet-delay", "rttcp", "timer-witness", str(checkout), "sh"}
    wrong = make_plan(Document("x", values | {"gateway": {"kind": "command", "near": "'", "far": "  "}}), 1)
    assert set(manifest.programs(wrong)) == {"comet-delay", "rttcp", "timer-witness"}
    assert not manifest.started_by_them(plan)
    hashes = {"rttcp": "e" * 64, str(checkout): machine.hashes(files)[str(checkout)]}
    write_run(tmp_path / "runs" / "x-a", 100, [10, 20], hashes=hashes)
    assert cli.run(["history", "--runs-dir", str(tmp_path / "runs")]) == 0
    shown = capsys.readouterr().out
    assert hashes[str(checkout)][:12] in shown and "e" * 12 not in shown


def test_what_our_programs_start_and_load_is_known() -> None:
    """The program iperf3 is a few lines around libiperf, and lft-gateway starts ip and nft."""
    values = {"scenario": {"name": "x"}, "path": {"delay": "5ms"}, "transfer": {"duration": "1s", "tool": "iperf3"}}
    flow = {"flow": {"second": {"tool": "rttcp"}}}
    plan = make_plan(Document("x", values | flow | {"gateway": {"kind": "lft", "rate": "10Mbit"}}), 1)
    found = manifest.started_by_them(plan)
    assert set(found) == {"iperf3", "ip", "nft"}
    told = machine.system([binaries.find("rttcp")], found)
    assert {"iperf3", "ip", "nft", "libiperf.so.0"} <= set(told) and not any("libc.so" in name for name in told)
    assert all(len(digest) == 64 for digest in told.values())


def test_a_damaged_manifest_does_not_hide_the_other_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in {"cut": '{"name": "x", ', "empty": "{}", "list": "[]"}.items():
        (folder / name).mkdir()
        (folder / name / "manifest.json").write_text(text)
    assert len(history(folder, capsys, "--scenario", "x")) == 6
    assert "y, real time" in texts_of_page(page_at(Runs(folder), "/history"))


def test_the_page_has_the_choice_the_figure_and_the_table(folder: Path) -> None:
    said = list(texts_of_page(page_at(Runs(folder), "/history")))
    assert "y, real time" in said and "x, real time" not in said  # y is the scenario of the newest run
    page = page_at(Runs(folder), "/history", "?scenario=all")
    said = list(texts_of_page(page))
    assert {"x, real time", "x, virtual time", "y, real time", "c0ffee", "1.1, undecided", "11 Mbit/s"} <= set(said)
    assert "/run/x-b" in str(page) and "/run/x-a" not in str(page)  # run x-a is in a subfolder
    said = list(texts_of_page(page_at(Runs(folder), "/history", "?metric=cpu_sender_ns&scenario=y")))
    assert any(text.startswith("no valid trial with cpu_sender_ns") for text in said)
    for wrong in ("?metric=window_bytes", "?scenario=z", "?last=7", "?metric=%3Cb%3E"):
        said = list(texts_of_page(page_at(Runs(folder), "/history", wrong)))
        assert any("not offered" in text or "not a measured" in text or "no run of it" in text for text in said), wrong


def test_the_address_of_a_history_is_the_view() -> None:
    asked = Asked("retransmits", "x", 50)
    assert Asked.of(asked.search) == asked and Asked.of("") == Asked("short_term_bps", "", 20)
