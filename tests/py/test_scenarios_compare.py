"""`lfp compare`: cells matched by their settings, a verdict that repeats can carry, and the exit status for scripts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from netcommon.errors import UsageError
from scenarios import cli
from scenarios.compare import compare


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
    assert cells[1]["p"] < 0.01 and cells[1]["delta"] == -1
    assert cli.run(["compare", str(worse), str(base)]) == 0  # better is no regression …
    assert cli.run(["compare", str(worse), str(base), "--agree"]) == 1  # … unless the two shall agree


def test_chance_is_not_a_regression(make: Callable[..., Path]) -> None:
    """Twenty cells with 8 % noise: medians differ by more than 5 % here and there, Holm's correction knows why."""
    rng = np.random.default_rng(7)
    base, run = ({loss: list(rng.normal(100e6, 8e6, 5)) for loss in range(20)} for _ in range(2))
    found = compare(make("base", base), make("run", run), metric="short_term_bps", within=0.05)
    assert any(abs(cell.ratio - 1) > 0.05 for cell in found.cells)
    assert found.count("worse") == 0, "seed 7"


def test_few_repeats_are_judged_by_the_ratio(make: Callable[..., Path]) -> None:
    base, run = make("base", {0: [100e6]}), make("run", {0: [90e6]})
    cell = compare(base, run, metric="short_term_bps", within=0.05).cells[0]
    assert (cell.p, cell.verdict) == (None, "worse")
    assert compare(base, run, metric="short_term_bps", within=0.11).cells[0].verdict == "same"


def test_settings_that_may_differ(make: Callable[..., Path]) -> None:
    base = make("base", {0: [100e6], 5: [80e6]})
    run = make("run", {0: [200e6]}, gateway="lft")
    with pytest.raises(UsageError, match="no setting with valid trials in both"):
        compare(base, run, metric="short_term_bps", within=0.05)
    found = compare(base, run, metric="short_term_bps", within=0.05, across=["gateway"])
    assert [cell.verdict for cell in found.cells] == ["better"] and found.unmatched == 1


def test_real_and_virtual_time_are_compared_whatever_virtual_time_settles(make: Callable[..., Path]) -> None:
    real = make("real", {0: [100e6]}, poll_ns=None, zerocopy=False)
    virtual = make("virtual", {0: [101e6]}, poll_ns=50_000, zerocopy=True)
    with pytest.raises(UsageError, match="no setting with valid trials in both"):
        compare(real, virtual, metric="short_term_bps", within=0.05)
    (virtual / "manifest.json").write_text('{"virtual": {"box": "comet"}}')
    assert [cell.verdict for cell in compare(real, virtual, metric="short_term_bps", within=0.05).cells] == ["same"]


def test_trials_that_are_not_valid_do_not_count(make: Callable[..., Path]) -> None:
    base, run = make("base", {0: [1e6, 100e6]}, invalid=1), make("run", {0: [100e6]})
    found = compare(base, run, metric="short_term_bps", within=0.05)
    assert found.cells[0].base == (100e6,) and found.left_out == 1


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--metric", "speed"], "--metric speed: not a column"),
        (["--across", "gatway"], "--across gatway: not a setting; allowed: trial"),
        (["--within", "much"], "--within much: not a ratio"),
    ],
)
def test_wrong_options_are_one_line(
    make: Callable[..., Path], capsys: pytest.CaptureFixture[str], option: list[str], said: str
) -> None:
    base, run = make("base", {0: [1e6]}), make("run", {0: [1e6]})
    assert cli.run(["compare", str(base), str(run), *option]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
