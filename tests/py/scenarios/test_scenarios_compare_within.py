"""`lfp compare --by`: two values of a swept setting inside one run, and never trials that differ in anything else."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.synthetic_results import random_plan, write_plan
from support.synthetic_results import rows as synthetic_rows

from lfp import cli
from netcommon.errors import UsageError
from scenarios.plan import columns
from scenarios.plan.cells import key
from scenarios.plan.document import Document
from scenarios.plan.plan import Plan, make_plan
from scenarios.run.compare_within import compare_within
from scenarios.run.judgement import Side, judge

TWO_RATES: dict[str, Any] = {
    "scenario": {"name": "x"},
    "path": {"delay": "5ms", "jitter": "20us"},
    "transfer": {"bytes": "1MB"},
    "gateway": {"kind": "lft"},
    "run": {"repeat": 5},
    "sweep": {"gateway.rate": ["100Mbit", "99Mbit", "50Mbit"], "path.loss": ["0", "1%", "gilbert:1%,10"]},
}
TWO_CASES: dict[str, Any] = {
    "scenario": {"name": "x"},
    "transfer": {"bytes": "1MB"},
    "path": {"delay": "5ms", "rate": "45Mbit", "jitter": "20us"},
    "case": {"near": {"path": {"delay": "5ms"}}, "far": {"path": {"delay": "50ms"}, "profile": {"name": "bbr"}}},
    "run": {"repeat": 5},
    "sweep": {"path.queue": ["0.5 BDP", "1 BDP"], "scenario.case": ["near", "far"]},
}


def measured(plan: Plan, noise: float, seed: int = 1, **rates: float) -> list[dict[str, Any]]:
    """Results whose throughput depends on the trial's gateway rate or case, with some noise."""
    rng = np.random.default_rng(seed)
    rows = [row | {"valid": True} for row in synthetic_rows(plan, random.Random(seed))]
    means = [rates.get(str(row["case"]), float(row["gateway_rate_bps"] or 1e6)) for row in rows]
    return [row | {"short_term_bps": rng.normal(mean, noise * mean)} for row, mean in zip(rows, means, strict=True)]


@pytest.fixture
def rates(tmp_path: Path) -> Path:
    """Three rates of a gateway over three losses, five repeats with noise of a thousandth."""
    plan = make_plan(Document("x", TWO_RATES), 1)
    return write_plan(tmp_path / "rates", plan, measured(plan, 0.001))


def test_one_per_cent_less_in_one_run_is_a_regression(rates: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["compare", "--by", "gateway.rate=100Mbit,99Mbit", str(rates), "--within", "0.5%"]
    assert cli.run([*line, "--json"]) == 1
    cells = [json.loads(one) for one in capsys.readouterr().out.splitlines()]
    assert [(cell["setting"]["path.loss"], cell["verdict"]) for cell in cells] == [
        ("0", "worse"),
        ("1%", "worse"),
        ("gilbert:1%,10", "worse"),
    ]
    for cell in cells:
        assert cell["by"] == {"setting": "gateway.rate", "base": "100Mbit", "run": "99Mbit"}
        assert cell["ratio"] == pytest.approx(0.99, abs=0.003)
        assert cell["interval"][0] < 0.99 < cell["interval"][1] < 1
    assert cli.run(["compare", "--by", "gateway.rate=99Mbit,100Mbit", str(rates), "--within", "0.5%"]) == 0
    shown = capsys.readouterr().out
    assert "gateway.rate: base 99Mbit, run 100Mbit" in shown and "3 better" in shown


def test_two_cases_are_compared_and_what_they_change_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A case changes delay, profile and, through the BDP, the queue in bytes. The cells are the queues as written."""
    plan = make_plan(Document("x", TWO_CASES), 1)
    run = write_plan(tmp_path / "cases", plan, measured(plan, 0.001, near=40e6, far=30e6))
    assert cli.run(["compare", str(run), "--by", "scenario.case"]) == 1
    shown = capsys.readouterr().out
    assert "0.5 BDP" in shown and "1 BDP" in shown and "2 worse of 2 cells" in shown
    said = next(line for line in shown.splitlines() if line.startswith("because of scenario.case also differ: "))
    for part in ("path.delay (5 ms against 50 ms)", "profile.name (modern against bbr)", "path.queue ("):
        assert part in said
    assert cli.run(["compare", str(run), "--by", "case=far,near"]) == 0


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("gateway.rate", "3 values of gateway.rate (100Mbit | 99Mbit | 50Mbit); choose two: --by gateway.rate=100Mbit"),
        ("gateway.rate=100Mbit,98Mbit", "(100Mbit | 99Mbit | 50Mbit), such as --by gateway.rate=100Mbit,99Mbit"),
        ("gateway.rate=100Mbit", "want two of the values"),
        ("gateway.rate=99Mbit,99Mbit", "want two of the values"),
        ("path.queue", "not swept in rates; swept: gateway.rate, path.loss"),
        ("speed", "--by speed: not swept in rates"),
    ],
)
def test_wrong_values_are_one_line_that_names_the_values(
    rates: Path, capsys: pytest.CaptureFixture[str], by: str, said: str
) -> None:
    assert cli.run(["compare", "--by", by, str(rates)]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


@pytest.mark.parametrize("line", [["A"], ["A", "B", "--by", "path.loss"], ["A", "--by", "path.loss", "--across", "x"]])
def test_two_runs_or_one_with_by(capsys: pytest.CaptureFixture[str], line: list[str]) -> None:
    assert cli.run(["compare", *line]) == 2
    assert "--by" in capsys.readouterr().err


def test_a_value_may_contain_a_comma_and_spaces(rates: Path) -> None:
    found = compare_within(rates, by="path.loss=1%,Gilbert:1%, 10", metric="short_term_bps", margin=0.05)
    assert found.by == ("path.loss", "1%", "gilbert:1%,10") and found.count("same") == 3


def test_a_setting_is_not_taken_for_one_with_a_column_in_common(tmp_path: Path) -> None:
    """path.queue sets the queue of both directions, path.ab_queue of one."""
    sweep = {"path.queue": ["220KB", "60KB"], "path.ab_queue": ["31KB", "62KB"]}
    plan = make_plan(Document("x", TWO_CASES | {"case": {}, "sweep": sweep}), 1)
    run = write_plan(tmp_path / "run", plan, measured(plan, 0.001))
    found = compare_within(run, by="path.ab_queue=31KB,62KB", metric="short_term_bps", margin=0.05)
    assert found.by == ("path.ab_queue", "31KB", "62KB") and len(found.cells) == 2


def test_trials_that_are_not_valid_do_not_count(tmp_path: Path) -> None:
    plan = make_plan(Document("x", TWO_RATES), 1)
    table = measured(plan, 0.001)
    for row in table:  # every repeat of 99 Mbit/s at a loss of 1 %, and one trial of a rate that is not compared
        row["valid"] = not (row["gateway_rate_bps"] == 99_000_000 and row["loss"] == "1%") and row["trial"] != 8
    run = write_plan(tmp_path / "run", plan, table)
    found = compare_within(run, by="gateway.rate=100Mbit,99Mbit", metric="short_term_bps", margin=0.05)
    assert (len(found.cells), found.unmatched, found.left_out) == (2, 1, 5)


FOLLOWS = {"profile.name": {"congestion", "window_bytes"}, "path.delay": {"rtt_ns"}}  # what a setting decides besides


def test_no_cell_holds_trials_that_differ_in_another_setting(tmp_path: Path) -> None:
    """Random sweeps of two or three settings: the trials of a cell agree in all settings but the one compared, and each
    side has one value of that."""
    for seed in random.sample(range(2**32), 8):
        rng = random.Random(seed)
        plan = random_plan(rng)
        table = [row | {"valid": True, "short_term_bps": 1e6 + row["trial"]} for row in synthetic_rows(plan, rng)]
        run, setting = write_plan(tmp_path / str(seed), plan, table), rng.choice(sorted(plan.sweep))
        picked = ",".join(str(value) for value in rng.sample(plan.sweep[setting], 2))
        found = compare_within(run, by=f"{setting}={picked}", metric="short_term_bps", margin=0.05)
        own = columns.filled_by(setting)
        others = [name for name in columns.settings() if name not in {*own, *FOLLOWS.get(setting, ())}]
        for cell in found.cells:
            sides = [[table[int(value - 1e6)] for value in side.values] for side in (cell.base, cell.run)]
            assert len({key(row, others) for side in sides for row in side}) == 1, f"seed {seed}"
            values = [{key(row, own) for row in side} for side in sides]
            assert [len(some) for some in values] == [1, 1] and values[0] != values[1], f"seed {seed}"
        assert found.unmatched == found.left_out == 0, f"seed {seed}"


@pytest.mark.parametrize("repeats", [(4, 4), (5, 5), (6, 8), (8, 4), (12, 12)])
def test_p_is_exact_and_the_interval_excludes_1_where_p_is_small(repeats: tuple[int, int]) -> None:
    """Without a margin p is the larger one of scipy's exact rank test and its Welch test of the logarithms, on the side
    where that is smaller."""
    seed = random.randrange(2**32)
    rng = np.random.default_rng(seed)
    for _ in range(100):
        base, run = (tuple(rng.normal(100, 5, n)) for n in repeats)
        (cell,) = judge([{}], [(Side(base, base), Side(run, run))], 0.0, False)
        logs = np.log(run), np.log(base)
        p = min(
            max(
                stats.mannwhitneyu(run, base, method="exact", alternative=side).pvalue,
                stats.ttest_ind(*logs, equal_var=False, alternative=side).pvalue,
            )
            for side in ("less", "greater")
        )
        assert cell.p == pytest.approx(min(1, 2 * p)), f"seed {seed}"
        ends = np.exp(stats.ttest_ind(*logs, equal_var=False).confidence_interval())
        assert cell.interval is not None and cell.p is not None
        assert cell.interval[0] <= ends[0] * (1 + 1e-9) and cell.interval[1] >= ends[1] * (1 - 1e-9), f"seed {seed}"
        assert (cell.interval[0] < 1 < cell.interval[1]) == (cell.p >= 0.05), f"seed {seed}"


def test_200_comparisons_of_a_gateway_with_itself_give_few_false_alarms() -> None:
    """Two equal samples of five, 200 times: the test says ``differs`` in at most 5 % of them, so with a probability of
    one in a million no more than 26 of 200 times (binomial)."""
    seed = random.randrange(2**32)
    rng = np.random.default_rng(seed)
    most = int(stats.binom.ppf(1 - 1e-6, 200, 0.05))
    alarms = 0
    for _ in range(200):
        base, run = (tuple(rng.normal(100, 1, 5)) for _ in range(2))
        (cell,) = judge([{}], [(Side(base, base), Side(run, run))], 0.0, False)
        alarms += cell.verdict in ("worse", "better")
    assert alarms <= most, f"{alarms} of 200, seed {seed}"


def test_a_value_whose_trials_lack_the_metric_is_not_called_not_valid(tmp_path: Path) -> None:
    plan = make_plan(Document("x", TWO_RATES), 1)
    table = measured(plan, 0.001)
    for row in table:  # nothing of 99 Mbit/s recovered
        row["recovery_ns"] = None if row["gateway_rate_bps"] == 99_000_000 else 1_000_000
    run = write_plan(tmp_path / "run", plan, table)
    with pytest.raises(UsageError, match=r"no setting with valid trials of both values of gateway\.rate that have rec"):
        compare_within(run, by="gateway.rate=100Mbit,99Mbit", metric="recovery_ns", margin=0.05)
    found = compare_within(run, by="gateway.rate=100Mbit,50Mbit", metric="recovery_ns", margin=0.05)
    assert (found.left_out, found.without) == (0, 0)
    for row in table:
        row["recovery_ns"] = None
    run = write_plan(tmp_path / "none", plan, table)
    with pytest.raises(UsageError, match="--metric recovery_ns: no valid trial of none has it"):
        compare_within(run, by="gateway.rate=100Mbit,99Mbit", metric="recovery_ns", margin=0.05)
