"""The reproduction book: no row of the papers is missing, and every figure is one that its scenario measures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from netcommon.errors import UsageError
from scenarios.commands.papers import SEED, _newest, command
from scenarios.papers import book, rows
from scenarios.papers.book import Measured
from scenarios.papers.rows import Row
from scenarios.plan import params
from scenarios.plan.plan import load_plan

PAPERS = {
    "comet-2004": {
        "fig1", "fig1-sessions", "fig2", "fig3", "fig3-detour", "fig11", "fig12", "fig13", "tab2", "tab3", "auto",
        "esp",
    },
    "tgnle-2006": {"fig4", "run-a", "run-b", "run-c", *(f"function-{number}" for number in range(1, 8))},
    "cpeak-1998": {"tab1", "tab2", "fig2"},
    "lfp-1995": {"fig3", "fig4", "xys", "tab1", "response", "tab2", "line", "rttcp"},
    "lsr-2007": {
        "ipv4-single", "ipv6-single", "multi", "way", "rules", "delay-alone", "ceiling", "many",
        *(f"cause-{number}" for number in (1, 2, 3, 4, 5, 7, 8)),
    },
}  # fmt: skip
VALID = {"valid": True}


def test_every_row_of_the_papers_is_there_once() -> None:
    assert sorted(row.row for row in rows.load()) == sorted(
        f"{paper}/{row}" for paper in PAPERS for row in PAPERS[paper]
    )


@pytest.mark.parametrize("scenario", rows.scenarios())
def test_every_figure_is_in_the_quick_form_of_its_scenario(scenario: str) -> None:
    trials = [params.of(trial) for trial in load_plan(scenario, quick=True).trials]
    for row in (row for row in rows.load() if row.scenario == scenario):
        assert row.figures, f"{row.row} takes nothing from {scenario}"
        for figure in row.figures:
            assert any(figure.picks(trial) for trial in trials), f"{row.row}: no trial is '{figure.say}'"


@pytest.mark.parametrize("ways", [{}, {"by": "a bench", "open": "nothing"}])
def test_a_row_is_measured_in_one_way_or_open(ways: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="give one of 'scenario', 'by' and 'open'"):
        Row.model_validate({"row": "lfp-1995/tab2", "reported": "3.4 Mbit/s"} | ways)


def result(rate_bps: int, **settings: Any) -> dict[str, Any]:
    return {"valid": True, "short_term_bps": rate_bps, "window_bytes": 4096} | settings


def line(run: Measured | None) -> str:
    row = Row.model_validate({
        "row": "lfp-1995/tab2", "reported": "3.4 Mbit/s", "scenario": "lfp-tab2",
        "figures": [{"say": "4 KB", "where": {"transfer.window": "4KB"}}],
    })  # fmt: skip
    text = book.page([row], {"lfp-tab2": run} if run else {}, ["date: today"])
    assert text.startswith("# The reproduction book\n") and "- date: today\n" in text and "## lfp-1995\n" in text
    return text.splitlines()[-1]


def test_a_figure_is_the_median_of_valid_repeats_with_their_range() -> None:
    repeats = [result(3_000_000), result(5_000_000), result(4_000_000), result(9_000_000, valid=False)]
    found = line(Measured([*repeats, result(1, window_bytes=65536)], [{"met": True}, {"met": False}], VALID))
    assert "4 KB: 4 Mbit/s (3 Mbit/s to 5 Mbit/s, 3 trials)" in found and "1 of 2 expectations met" in found


def test_what_is_not_measured_is_said() -> None:
    assert line(None).count("no run") == 1 and "not measured" in line(None)
    assert "4 KB: no valid trial" in line(Measured([], [], {"valid": False}))
    assert "run not valid; measured, nothing expected" in line(Measured([], [], {"valid": False}))


def test_an_open_row_says_what_is_missing() -> None:
    row = Row(row="lfp-1995/line", reported="three channels", open="one channel a direction")
    assert "| line | three channels | – | not reproduced yet | one channel a direction |" in book.page([row], {}, [])


@pytest.mark.parametrize("scenario", rows.scenarios())
def test_a_run_of_the_same_plan_is_found_again(tmp_path: Path, scenario: str) -> None:
    plan = load_plan(scenario, quick=True, seed=SEED)
    run = tmp_path / f"{scenario}-1"
    run.mkdir()
    said = {"scenario": plan.echo, "seed": plan.seed, "state": "done", "virtual": {}}
    (run / "manifest.json").write_text(json.dumps(said), encoding="utf-8")
    assert _newest(plan, tmp_path) == run
    assert _newest(load_plan(scenario, quick=True, seed=SEED + 1), tmp_path) is None


def test_a_scenario_without_a_row_is_refused() -> None:
    answer = CliRunner().invoke(command, ["cc-kernel"], standalone_mode=False)
    assert isinstance(answer.exception, UsageError) and "cc-kernel: measures no row of a paper" in str(answer.exception)
