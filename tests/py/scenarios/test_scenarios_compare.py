"""`lfp compare`: cells matched by their settings, a verdict that the repeats support, and the exit status for
scripts."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from support.synthetic_results import random_plan, write_plan
from support.synthetic_results import rows as synthetic_rows

from lfp import cli
from netcommon.errors import UsageError
from scenarios.plan import columns
from scenarios.plan.cells import key
from scenarios.plan.document import Document
from scenarios.plan.plan import make_plan
from scenarios.run.compare import compare
from scenarios.run.judgement import Side, judge


def write_run(folder: Path, cells: dict[int, Sequence[float]], *, invalid: int = 0, **settings: object) -> Path:
    """A run with throughputs by loss_ppb; the first `invalid` trials are not valid."""
    rows: list[dict[str, object]] = []
    for loss_ppb, values in cells.items():
        for repeat, value in enumerate(values):
            number = len(rows)
            params = {"trial": number, "repeat": repeat, "seed": number, "gateway": "none", "loss_ppb": loss_ppb}
            params |= settings
            trial = folder / "trials" / f"{number:04d}"
            trial.mkdir(parents=True)
            (trial / "params.json").write_text(json.dumps(params))
            rows.append(params | {"flow": 0, "valid": number >= invalid, "short_term_bps": float(value)})
    (folder / "manifest.json").write_text("{}")
    parquet.write_table(pa.Table.from_pylist(rows), folder / "results.parquet")
    return folder


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    return lambda name, cells, **more: write_run(tmp_path / name, cells, **more)


def noisy(mean: float, repeats: int, seed: int) -> list[float]:
    return list(np.random.default_rng(seed).normal(mean, 0.02 * mean, repeats))


def test_a_cell_that_got_worse_is_named_and_fails(
    make: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    base = make("base", {0: noisy(100e6, 8, 1), 1_000_000: noisy(50e6, 8, 2)})
    worse = make("worse", {0: noisy(100e6, 8, 3), 1_000_000: noisy(40e6, 8, 4)})
    assert cli.run(["compare", str(base), str(worse), "--json"]) == 1
    cells = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(cell["setting"]["loss_ppb"], cell["verdict"]) for cell in cells] == [(0, "same"), (1_000_000, "worse")]
    assert cells[1]["p"] < 0.01 and cells[1]["delta"] == -1 and cells[1]["p_corrected"] == "Holm, 2 cells"
    assert cli.run(["compare", str(worse), str(base)]) == 0  # better is no regression …
    assert cli.run(["compare", str(worse), str(base), "--agree"]) == 1  # … unless the two shall agree


def test_chance_is_not_a_regression(make: Callable[..., Path]) -> None:
    """Twenty cells with 8 % noise: some medians differ by more than 5 %, which Holm's correction accounts for."""
    rng = np.random.default_rng(7)
    base, run = ({loss: list(rng.normal(100e6, 8e6, 5)) for loss in range(20)} for _ in range(2))
    found = compare(make("base", base), make("run", run), metric="short_term_bps", margin=0.05)
    assert any(abs(cell.ratio - 1) > 0.05 for cell in found.cells)
    assert found.count("worse") == 0, "seed 7"


def test_one_cell_of_twenty_may_lie_apart_by_chance(make: Callable[..., Path]) -> None:
    """Five values all below five others: p is 0.008 for that cell alone, and 0.16 for one of twenty."""
    above, below, mixed = (
        [100e6, 101e6, 102e6, 103e6, 104e6],
        [90e6, 91e6, 92e6, 93e6, 94e6],
        [98e6, 99e6, 105e6, 106e6],
    )
    base, run = {0: above}, {0: below}
    alone = compare(make("base", base), make("run", run), metric="short_term_bps", margin=0.05)
    assert alone.count("worse") == 1
    many = dict.fromkeys(range(1, 20), above), {loss: [*mixed, 102.5e6] for loss in range(1, 20)}
    found = compare(make("b20", base | many[0]), make("r20", run | many[1]), metric="short_term_bps", margin=0.05)
    assert len(found.cells) == 20 and found.count("worse") == 0
    assert next(cell.p for cell in found.cells if cell.ratio < 0.95) == pytest.approx(20 * (alone.cells[0].p or 0.0))


@pytest.mark.parametrize("repeats", [1, 2, 3])
def test_few_repeats_decide_nothing(
    make: Callable[..., Path], capsys: pytest.CaptureFixture[str], repeats: int
) -> None:
    """Three trials all below three others: the least p of a rank test is 2 / C(6, 3) = 0.1. Equal medians of so few
    show nothing either."""
    base, run = make("base", {0: [100e6, 101e6, 102e6][:repeats]}), make("run", {0: [90e6, 91e6, 92e6][:repeats]})
    for margin in (0.05, 0.11, 0.5):
        cell = compare(base, run, metric="short_term_bps", margin=margin).cells[0]
        assert (cell.p, cell.interval, cell.verdict) == (None, None, "undecided")
    assert cli.run(["compare", str(base), str(run)]) == 1
    said = capsys.readouterr().out
    assert "0 same, 0 better, 0 worse, 1 undecided of 1 cell" in said
    assert "undecided, too few repeats: 1 cell; a rank test needs 4 or more a side that differ" in said
    assert "the whole 95 % interval of its ratio lies within 0.95 … 1.053" in said
    assert cli.run(["compare", str(base), str(run), "--allow-undecided"]) == 0


def test_equal_medians_are_not_the_same(make: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    base = make("base", {0: [84e6, 92e6, 100e6, 107e6, 119e6]})
    run = make("run", {0: [82e6, 95e6, 100e6, 109e6, 121e6]})
    (cell,) = compare(base, run, metric="short_term_bps", margin=0.05).cells
    assert cell.ratio == 1 and cell.verdict == "undecided"
    assert cell.interval and cell.interval[0] < 0.85 and cell.interval[1] > 1.15
    assert cli.run(["compare", str(base), str(run)]) == 1
    assert "undecided, repeats differ too much for this margin: 1 cell; " in capsys.readouterr().out
    assert cli.run(["compare", str(base), str(run), "--margin", "40%"]) == 0


def test_the_same_needs_the_whole_interval_inside_the_margin(make: Callable[..., Path]) -> None:
    base, run = make("base", {0: noisy(100e6, 8, 1)}), make("run", {0: noisy(100e6, 8, 2)})
    (cell,) = compare(base, run, metric="short_term_bps", margin=0.05).cells
    assert cell.interval
    apart = max(1 - cell.interval[0], 1 - 1 / cell.interval[1])
    for margin, verdict in ((apart + 1e-6, "same"), (apart - 1e-6, "undecided")):
        found = compare(base, run, metric="short_term_bps", margin=margin).cells[0].verdict
        assert found in (verdict, "not worse") and (found == "same") == (verdict == "same")


def test_not_worse_is_the_same_or_better(make: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    base, run = make("base", {0: noisy(100e6, 8, 1)}), make("run", {0: noisy(105e6, 8, 2)})
    (cell,) = compare(base, run, metric="short_term_bps", margin=0.05).cells
    assert cell.verdict == "not worse" and cell.interval and 0.95 < cell.interval[0] < 1.05 < cell.interval[1]
    assert cli.run(["compare", str(base), str(run)]) == 0 and "1 not worse of 1 cell" in capsys.readouterr().out
    assert cli.run(["compare", str(base), str(run), "--agree"]) == 1
    assert cli.run(["compare", str(run), str(base)]) == 1  # which may be worse


def test_beyond_chance_and_yet_perhaps_within_the_margin(make: Callable[..., Path]) -> None:
    """The run is certainly slower: the rank test excludes a ratio of 1. But the ratio's interval, 0.93 to 0.98, reaches
    into the margin of 5 %."""
    base, run = make("base", {0: noisy(100e6, 8, 1)}), make("run", {0: noisy(95.5e6, 8, 2)})
    (cell,) = compare(base, run, metric="short_term_bps", margin=0.05).cells
    assert cell.interval and cell.interval[0] < 0.95 < cell.interval[1] < 1 and cell.verdict == "undecided"
    assert compare(base, run, metric="short_term_bps", margin=0.0).cells[0].verdict == "worse"


@pytest.mark.parametrize(
    ("base", "run", "verdict"),
    [
        ([0.0] * 4, [0.0] * 4, "same"),
        ([0.0] * 4, [5.0, 6.0, 7.0, 8.0], "better"),
        ([5.0, 6.0, 7.0, 8.0], [0.0] * 4, "worse"),
        ([-1.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0], "undecided"),
    ],
)
def test_zeros_have_a_ratio_and_negative_values_none(base: list[float], run: list[float], verdict: str) -> None:
    sides = [Side(tuple(values), tuple(values)) for values in (base, run)]
    assert judge([{}], [(sides[0], sides[1])], 0.05, False)[0].verdict == verdict


def test_ranges_that_overlap_are_undecided(make: Callable[..., Path]) -> None:
    base, run = make("base", {0: [80e6, 100e6, 101e6, 120e6]}), make("run", {0: [75e6, 90e6, 91e6, 110e6]})
    cell = compare(base, run, metric="short_term_bps", margin=0.05).cells[0]
    assert cell.verdict == "undecided" and cell.p is not None and cell.p > 0.05


def test_settings_that_may_differ(make: Callable[..., Path]) -> None:
    base = make("base", {0: [100e6], 5: [80e6]})
    run = make("run", {0: [200e6]}, gateway="lft")
    with pytest.raises(
        UsageError,
        match=r"differ in gateway.kind \(none against lft\).* lfp compare \S+/base \S+/run --across gateway.kind$",
    ):
        compare(base, run, metric="short_term_bps", margin=0.05)
    found = compare(base, run, metric="short_term_bps", margin=0.05, across=["gateway.kind"])
    assert [cell.verdict for cell in found.cells] == ["undecided"] and found.unmatched == 1


@pytest.mark.parametrize("name", ["gateway.rate", "gateway_rate_bps"])
def test_a_setting_is_named_as_the_scenario_names_it(make: Callable[..., Path], name: str) -> None:
    base = make("base", {0: [18e6]}, gateway="lft", gateway_rate_bps=20_000_000)
    run = make("run", {0: [16e6]}, gateway="lft", gateway_rate_bps=18_000_000)
    said = r"differ in gateway\.rate \(20 Mbit/s against 18 Mbit/s\).* --across gateway\.rate$"
    with pytest.raises(UsageError, match=said):
        compare(base, run, metric="short_term_bps", margin=0.05)
    found = compare(base, run, metric="short_term_bps", margin=0.05, across=[name])
    assert [cell.ratio for cell in found.cells] == [pytest.approx(16 / 18)]


def test_real_and_virtual_time_are_compared_whatever_virtual_time_settles(make: Callable[..., Path]) -> None:
    real = make("real", {0: [100e6]}, poll_ns=None, zerocopy=False)
    virtual = make("virtual", {0: [101e6]}, poll_ns=50_000, zerocopy=True)
    with pytest.raises(UsageError, match=r"the runs differ in path\.poll"):
        compare(real, virtual, metric="short_term_bps", margin=0.05)
    (virtual / "manifest.json").write_text('{"virtual": {"box": "comet"}}')
    assert len(compare(real, virtual, metric="short_term_bps", margin=0.05).cells) == 1


def test_trials_that_are_not_valid_do_not_count(make: Callable[..., Path]) -> None:
    base, run = make("base", {0: [1e6, 100e6]}, invalid=1), make("run", {0: [100e6]})
    found = compare(base, run, metric="short_term_bps", margin=0.05)
    assert found.cells[0].base.values == (100e6,) and found.left_out == 1


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--metric", "speed"], "--metric speed: not a measured column"),
        (["--across", "gatway"], "--across gatway: not a setting; did you mean 'gateway.kind'? allowed: a setting"),
        (["--within", "much"], "--margin much: not a ratio"),
        (["--margin", "5"], "--margin 5: has no unit; write 5%"),
        (["--margin", "500%"], "--margin 500%: 500 %; want less than 100 %, such as --margin 5%"),
    ],
)
def test_wrong_options_are_one_line(
    make: Callable[..., Path], capsys: pytest.CaptureFixture[str], option: list[str], said: str
) -> None:
    base, run = make("base", {0: [1e6]}), make("run", {0: [1e6]})
    assert cli.run(["compare", str(base), str(run), *option]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_no_cell_mixes_trials_whose_settings_differ(tmp_path: Path) -> None:
    """Random scenarios of two or three swept settings, any of which may be named with --across: each cell has trials of
    one setting only, or the comparison is refused."""
    refused = 0
    for seed in random.sample(range(2**32), 60):
        rng = random.Random(seed)
        plan = random_plan(rng)
        tables = [synthetic_rows(plan, rng) for _ in range(2)]
        base, run = (write_plan(tmp_path / f"{seed}-{n}", plan, table) for n, table in enumerate(tables))
        across = rng.sample(sorted(plan.sweep), rng.choice((0, 0, 1)))
        setting_of = {row["short_term_bps"]: key(row, columns.settings()) for table in tables for row in table}
        try:
            found = compare(base, run, metric="short_term_bps", margin=0.05, across=across)
        except UsageError as error:
            valid = [{key(row, columns.settings()) for row in table if row["valid"]} for table in tables]
            if not valid[0] & valid[1]:  # one draw in some thousands
                continue
            assert across and "are no repeats of each other" in str(error), f"{error}, seed {seed}"
            refused += 1
            continue
        for cell in found.cells:
            assert len({setting_of[value] for value in (*cell.base.values, *cell.run.values)}) == 1, f"seed {seed}"
    assert refused


def test_copies_carry_no_p(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Five repeats in virtual time that are equal to the bit: one observation, judged by the difference alone."""
    rng = random.Random(3)
    plan = make_plan(Document("x", TWO_QUEUES | {"run": {"repeat": 5}}), 1)
    table = [row | {"valid": True} for row in synthetic_rows(plan, rng, copies=True)]
    faster = [row | {"short_term_bps": 1.2 * row["short_term_bps"]} for row in table]
    base, run = write_plan(tmp_path / "base", plan, table), write_plan(tmp_path / "run", plan, faster)
    found = compare(base, run, metric="short_term_bps", margin=0.05)
    assert [(cell.p, cell.verdict, len(cell.base.distinct)) for cell in found.cells] == [(None, "better", 1)] * 2
    cli.run(["compare", str(base), str(run)])
    shown = capsys.readouterr().out
    assert "5 (1 distinct), 5 (1 distinct)" in shown and "path.queue" in shown and "30 KB" in shown


def test_cpu_time_in_virtual_time_is_refused(tmp_path: Path) -> None:
    plan = make_plan(Document("x", TWO_QUEUES), 1)
    table = [row | {"valid": True, "cpu_gateways_ns": 10_000_000} for row in synthetic_rows(plan, random.Random(1))]
    run = write_plan(tmp_path / "run", plan, table, virtual={"box": "netem"})
    with pytest.raises(UsageError, match="computing takes no time"):
        compare(run, run, metric="cpu_gateways_ns", margin=0.05)


def test_what_differs_is_named_once_in_the_scenarios_words(tmp_path: Path) -> None:
    """Loss fills four columns; the command line that the message suggests names it once, and works."""
    plans = [make_plan(Document("x", TWO_QUEUES | {"path": {"delay": "5ms", "loss": p}}), 1) for p in ("1%", "2%")]
    runs = [
        write_plan(
            tmp_path / f"run{n}", plan, [row | {"valid": True} for row in synthetic_rows(plan, random.Random(n))]
        )
        for n, plan in enumerate(plans)
    ]
    with pytest.raises(UsageError) as caught:
        compare(*runs, metric="short_term_bps", margin=0.05)
    assert "the runs differ in path.loss (1 % against 2 %); " in str(caught.value)
    assert str(caught.value).endswith(f"lfp compare {runs[0]} {runs[1]} --across path.loss")
    assert len(compare(*runs, metric="short_term_bps", margin=0.05, across=["path.loss"]).cells) == 2


TWO_QUEUES: dict[str, Any] = {
    "scenario": {"name": "x"},
    "path": {"delay": "5ms"},
    "transfer": {"bytes": "1MB"},
    "sweep": {"path.queue": ["30KB", "60KB"]},
}


def test_programs_and_kernels_that_are_not_the_same_are_named(
    make: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Python and its packages are not compared, and neither are runs of earlier versions, which do not record what
    ran."""
    base, run = (make(name, {0: noisy(100e6, 8, 1)}) for name in ("base", "run"))
    said: dict[str, Any] = {
        "hashes": {"rttcp": "1", "comet-delay": "2"},
        "virtual": {"kernel_sha256": "3"},
        "commits": {"lfp": "4"},
        "versions": {"python": "3.11.7", "libc": "glibc 2.36"},
        "system": {"iperf3": "6", "libiperf.so.0": "7"},
    }
    (base / "manifest.json").write_text(json.dumps(said))
    for other, names in (
        ({"versions": {"python": "3.13.0", "libc": "glibc 2.36"}}, None),
        ({"hashes": {"rttcp": "1", "comet-delay": "5"}, "virtual": {"kernel_sha256": "6"}}, "comet-delay, kernel"),
        ({"versions": {"libc": "glibc 2.41"}, "commits": {"lfp": "4-dirty"}}, "libc, lfp"),
        ({"system": {"iperf3": "6", "libiperf.so.0": "8"}}, "libiperf.so.0"),
        ({"hashes": {}, "commits": {}, "versions": {}, "system": {}}, None),
    ):
        (run / "manifest.json").write_text(json.dumps(said | other))
        assert cli.run(["compare", str(base), str(run)]) == 0
        line = next((line for line in capsys.readouterr().out.splitlines() if line.startswith("not the same")), None)
        assert line == (names and f"not the same in both runs: {names} (hashes and versions in manifest.json)")


def test_what_lacks_the_metric_is_not_called_not_valid(
    make: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """A trial of three flows of which one exchanges requests: the rows of the others have no rate of exchanges. And a
    trial that is not valid counts once, however many flows it has."""

    def flows(name: str, *, valid: bool = True) -> Path:
        run = make(name, {0: [1e6]})
        (one,) = parquet.read_table(run / "results.parquet").to_pylist()
        rows = [one | {"flow": n, "valid": valid, "exchanges_per_s": 10.0 if n == 0 else None} for n in range(3)]
        rows += [one | {"trial": 1, "flow": n, "valid": False, "exchanges_per_s": None} for n in range(2)]
        parquet.write_table(pa.Table.from_pylist(rows), run / "results.parquet")
        return run

    base, run = flows("base"), flows("run")
    found = compare(base, run, metric="exchanges_per_s", margin=0.05)
    assert (len(found.cells), found.left_out, found.without) == (1, 2, 4)
    cli.run(["compare", str(base), str(run), "--metric", "exchanges_per_s"])
    said = capsys.readouterr().out
    assert "2 trials left out: not valid" in said and "4 rows of valid trials left out: no exchanges_per_s" in said
    cli.run(["show", str(run), "--summary", "exchanges_per_s"])
    said = capsys.readouterr().out
    assert "1 trial left out: not valid" in said and "2 rows of valid trials left out: no exchanges_per_s" in said


def test_a_metric_that_no_valid_trial_has_is_said_to_be_missing(
    make: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The message was once "no combination of settings is in both", even for a run compared with itself."""
    run = make("run", {0: [1e6]}, recovery_ns=None)
    (one,) = parquet.read_table(run / "results.parquet").to_pylist()
    schema = pa.Table.from_pylist([one]).schema
    parquet.write_table(pa.Table.from_pylist([one], schema), run / "results.parquet")
    assert cli.run(["compare", str(run), str(run), "--metric", "recovery_ns"]) == 2
    assert "--metric recovery_ns: no valid trial of run has it; choose another" in capsys.readouterr().err
