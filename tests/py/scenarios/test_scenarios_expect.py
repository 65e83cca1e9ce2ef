"""[[expect]]: bounds that a scenario's results must meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netcommon.errors import UsageError
from scenarios.plan import params
from scenarios.plan.document import LIBRARY
from scenarios.plan.plan import Plan, load_plan
from scenarios.run import expectations

HEAD = """
[scenario]
name = "expecting"
[path]
delay = "1ms"
rate = "80Mbit"
[transfer]
duration = "1s"
[sweep]
"transfer.window" = ["16KB", "64KB"]
"path.loss" = ["0", "1%"]
"""


def plan(folder: Path, text: str, *overrides: str) -> Plan:
    file = folder / "expecting.toml"
    file.write_text(HEAD + text)
    return load_plan(str(file), overrides=overrides)


def row(window_kb: int, loss_ppb: int, mbit: float | None, *, valid: bool = True, **more: Any) -> dict[str, Any]:
    return {
        "window_bytes": window_kb * 1024,
        "loss_ppb": loss_ppb,
        "loss": f"{loss_ppb / 1e7} %",
        "short_term_bps": None if mbit is None else mbit * 1e6,
        "valid": valid,
        **more,
    }


ROWS = [row(16, 0, 10), row(16, 10**7, 5), row(64, 0, 40), row(64, 10**7, 6)]


def unmet(folder: Path, text: str, rows: list[dict[str, Any]] | None = None) -> list[str]:
    made = plan(folder, text)
    judged = expectations.judge(made.base.expect, ROWS if rows is None else rows, made.sweep)
    assert [one.met is True for one in judged] == [not list(one.lines()) for one in judged]
    return [line for one in judged for line in one.lines()]


def test_an_expectation_that_is_met_says_nothing(tmp_path: Path) -> None:
    where = '{"transfer.window" = "64KB", "path.loss" = "0"}'
    assert not unmet(tmp_path, f'[[expect]]\nsay = "fast"\nwhere = {where}\nmin = "39Mbit"\nmax = "41Mbit"\n')


def test_the_line_names_the_setting_the_value_and_the_bound(tmp_path: Path) -> None:
    found = unmet(
        tmp_path, '[[expect]]\nsay = "no loss matters"\nwhere = {"transfer.window" = "64KB"}\nmin = "39Mbit"\n'
    )
    assert found == [
        "NOT MET    'no loss matters': 6 Mbit/s (transfer.window 64KB, path.loss 1 %), want at least 39 Mbit/s"
    ]


def test_a_ratio_to_another_setting(tmp_path: Path) -> None:
    text = """
[[expect]]
say = "four windows"
where = {"transfer.window" = "64KB", "path.loss" = "0"}
against = {"transfer.window" = "16KB", "path.loss" = "0"}
min = 3.9
max = 4.1
[[expect]]
say = "four windows under loss"
where = {"transfer.window" = "64KB", "path.loss" = "1%"}
against = {"transfer.window" = "16KB", "path.loss" = "1%"}
min = 3.9
"""
    line = "'four windows under loss': 1.2 × (transfer.window 64KB, path.loss 1%)"
    want = "want at least 3.9 × that of transfer.window 16KB, path.loss 1%"
    assert unmet(tmp_path, text) == [f"NOT MET    {line}, {want}"]


def test_the_median_of_valid_repeats_counts(tmp_path: Path) -> None:
    rows = [row(16, 0, mbit, valid=valid) for mbit, valid in ((9, True), (10, True), (30, True), (99, False))]
    text = '[[expect]]\nsay = "median"\nmin = "10Mbit"\nmax = "10Mbit"\n'
    assert not unmet(tmp_path, text, rows)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "NOT JUDGED 'seen': no trial has these settings"),
        ([row(16, 0, 5, valid=False)], "NOT JUDGED 'seen': no valid trial"),
        ([row(16, 0, None)], "NOT JUDGED 'seen': no valid trial"),
    ],
)
def test_what_was_not_measured_is_not_judged(tmp_path: Path, rows: list[dict[str, Any]], said: str) -> None:
    assert unmet(tmp_path, '[[expect]]\nsay = "seen"\nmax = "9Mbit"\n', rows) == [said]


def test_another_column_in_its_unit(tmp_path: Path) -> None:
    rows = [row(16, 0, 5, rtt_median_ns=8_400_000)]
    text = '[[expect]]\nsay = "no queue"\nof = "rtt_median_ns"\nmax = "8ms"\n'
    assert unmet(tmp_path, text, rows) == ["NOT MET    'no queue': 8.4 ms, want at most 8 ms"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('max = "fast"', "expect 'x': 'fast': not a rate; want for example 45Mbit"),
        ("", "expect 'x': give 'min', 'max' or both"),
        ('of = "speed"\nmax = 1', "expect 'x': of = 'speed': unknown; allowed: short_term_bps"),
        ('max = 1\nwhere = {"path.windw" = 1}', "expect 'x': 'path.windw': unknown; did you mean"),
        ('max = 1\nwhere = {"transfer.window" = "large"}', "expect 'x': transfer.window = 'large': not a value"),
        ("max = 1\nmim = 1", "unknown key 'expect.0.mim' — did you mean 'min'?"),
    ],
)
def test_errors_name_the_expectation(tmp_path: Path, lines: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        plan(tmp_path, f'[[expect]]\nsay = "x"\n{lines}\n')
    assert said in str(refused.value) and "expecting.toml:" in str(refused.value)


def test_expectations_go_with_the_path_that_they_were_written_for(tmp_path: Path) -> None:
    text = '[[expect]]\nsay = "fast"\nmin = "1Mbit"\n'
    assert len(plan(tmp_path, text).base.expect) == 1
    assert len(plan(tmp_path, text, "run.repeat=2").base.expect) == 1
    assert not plan(tmp_path, text, "path.delay=5ms").base.expect


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", sorted(path.stem for path in LIBRARY.glob("*.toml")))
def test_each_expectation_of_the_library_picks_a_trial(name: str, quick: bool) -> None:
    made = load_plan(name, quick=quick)
    rows = [row for trial in made.trials for row in params.rows(trial)]
    for one in made.base.expect:
        assert any(one.picks(row) for row in rows), one.say
        assert one.against is None or any(one.compares_with(row) for row in rows), one.say
