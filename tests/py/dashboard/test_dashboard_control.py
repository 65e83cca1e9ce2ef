"""Congestion controls over time: windows and a control's own values from samples, pairs of ours and the kernel's
controls, intervals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import synthetic_run

from dashboard.core import congestion
from dashboard.core.congestion_figure import congestion_figure
from dashboard.core.intervals import interval
from dashboard.core.runs import load_run
from dashboard.report.html import render
from dashboard.run import sweep, tables

SAMPLES = 400


def rename(run: Path, names: dict[int, str], factors: dict[int, float] | None = None) -> None:
    """Gives trials another congestion control, samples of a sawtooth between 50 and 100 segments times a factor, and
    throughput times the same factor; lfp_xys also gets its own values."""
    rows = pq.read_table(run / "results.parquet").to_pylist()
    for trial, name in names.items():
        folder, factor = run / "trials" / f"{trial:04d}", (factors or {}).get(trial, 1.0)
        params = json.loads((folder / "params.json").read_text()) | {"congestion": name}
        (folder / "params.json").write_text(json.dumps(params))
        pq.write_table(_samples(name, factor), folder / "tcp_info.parquet")
        row = next(row for row in rows if row["trial"] == trial)
        row |= {"congestion": name, "short_term_bps": 40e6 * factor, "stopped_share": 0.5}
    pq.write_table(pa.Table.from_pylist(rows), run / "results.parquet")


def _samples(name: str, factor: float) -> pa.Table:
    n = np.arange(SAMPLES)
    columns: dict[str, Any] = {
        "t_ns": 10**12 + n * 10_000_000,
        "snd_cwnd": ((50 + n % 50) * factor).astype(np.int64),
        "snd_ssthresh": np.where(n < 50, 0x7FFFFFFF, 50),
        "ca_state": np.where(n % 50 == 49, 3, 0),
    }
    columns["snd_cwnd"][n % 50 == 49] = 7  # in recovery: not compared
    if name.startswith("lfp_xys"):
        columns |= {"cc_0": np.full(SAMPLES, 2 << 16), "cc_1": (8 << 16) + n, "cc_2": np.full(SAMPLES, 1 << 15)}
    return pa.table(columns)


def test_the_words_of_xys_have_their_names_and_units(tmp_path: Path) -> None:
    path = synthetic_run.sweep(tmp_path, repeats=1)
    rename(path, {3: "lfp_xys:adaptive=1"})
    found = congestion.load(load_run(path), 3)
    assert found is not None and list(found.words) == ["x", "y", "s"]
    assert (found.words["x"] == 2).all() and (found.words["s"] == 0.5).all() and found.words["y"][0] == 8
    assert np.isnan(found.ssthresh[:50]).all() and (found.ssthresh[50:] == 50).all()
    axes = {trace.yaxis or "y" for trace in congestion_figure([found]).data}
    assert axes == {"y", "y2", "y3", "y4"}


def test_samples_without_what_a_figure_needs_give_none(tmp_path: Path) -> None:
    path = synthetic_run.sweep(tmp_path, repeats=1)
    assert congestion.load(load_run(path), 0) is None
    assert congestion.chosen(load_run(path)) is None and congestion.pairs(load_run(path)) == []


@pytest.mark.parametrize(("factor", "agrees"), [(1.05, True), (0.8, False)])
def test_a_pair_agrees_when_throughput_and_window_do(tmp_path: Path, factor: float, agrees: bool) -> None:
    path = synthetic_run.sweep(tmp_path, repeats=2)
    rename(path, {0: "scalable", 1: "lfp_scalable"}, {1: factor})
    run = load_run(path)
    (pair,) = congestion.pairs(run)
    assert (pair.ours.name, pair.kernel.name) == ("lfp_scalable", "scalable")
    assert abs(pair.window_apart - abs(factor - 1)) < 0.03  # whole segments
    assert pair.agrees == agrees
    assert tables.pair_table([pair]).rows[0][-1] == ("yes" if agrees else "no")
    assert "Comparison with the kernel&#39;s own" in render(run) or "Comparison with the kernel's own" in render(run)


def test_no_pair_is_made_of_trials_whose_windows_differ(tmp_path: Path) -> None:
    path = synthetic_run.sweep(tmp_path, repeats=1)
    rename(path, {0: "scalable", 1: "lfp_scalable"})
    assert congestion.pairs(load_run(path)) == []


def test_windows_over_time_are_of_one_queue_and_it_is_said_which(tmp_path: Path) -> None:
    """Two congestion controls at three queues: one figure shows both controls at a single queue."""
    path = synthetic_run.sweep(tmp_path, repeats=1)
    rename(path, {n: "cubic" if n % 2 else "reno" for n in range(12)})
    rows = pq.read_table(path / "results.parquet").to_pylist()[:12]
    for row in rows:
        queue = 30_720 * (1 + row["trial"] // 2 % 3)
        row |= {"queue_bytes": queue, "window_bytes": 65_536 if row["trial"] < 6 else 131_072, "profile": "modern"}
    pq.write_table(pa.Table.from_pylist(rows), path / "results.parquet")
    chosen = congestion.chosen(load_run(path))
    assert chosen is not None
    shown = [rows[line.trial] for line in chosen.controls]
    assert {row["congestion"] for row in shown} == {"reno", "cubic"} and len(shown) == 2
    assert len({(row["queue_bytes"], row["window_bytes"]) for row in shown}) == 1
    assert "transfer.window 128 KB" in chosen.note and "path.queue 30 KB" in chosen.note
    assert "path.queue 30 KB" in render(load_run(path))


def test_a_sweep_has_a_curve_for_each_of_what_the_report_names_with_intervals(tmp_path: Path) -> None:
    path = synthetic_run.sweep(tmp_path, repeats=3)
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["scenario"]["report"] |= {"series": "congestion"}
    (path / "manifest.json").write_text(json.dumps(manifest))
    rename(path, {0: "lfp_xys", 1: "lfp_xys", 2: "lfp_xys"}, {0: 0.9, 1: 1.0, 2: 1.1})
    built = sweep.build(load_run(path))
    assert built is not None and [curve.series for curve in built.curves] == [
        "lfp_xys, bsd-1995",
        "reno, bsd-1995",
        "reno, modern",
    ]
    table = tables.interval_table(built)
    own = [row for row in table.rows if row[1] == "lfp_xys, bsd-1995"]
    # the t quantile for 2 degrees of freedom is 4.303, the standard error 4/sqrt(3)
    assert own == [(own[0][0], "lfp_xys, bsd-1995", "40 ± 9.94 Mbit/s", "0.5 ± 0", "3 repeats")]


def test_two_values_have_no_interval() -> None:
    assert interval([1.0, 2.0]) is None


def test_a_short_logarithmic_axis_has_more_than_one_number(tmp_path: Path) -> None:
    """Between 1.2 and 19 the only power of ten is 10, and one number on an axis does not show where 8 is."""
    path = synthetic_run.sweep(tmp_path, repeats=1)
    rename(path, {3: "lfp_xys:adaptive=1"})
    found = congestion.load(load_run(path), 3)
    assert found is not None
    grown = replace(found, words={"x": np.geomspace(1.2, 19, found.t_s.size)})
    shown = congestion_figure([grown]).layout.yaxis2
    assert shown.type == "log"
    numbers = zip(shown.tickvals, shown.ticktext, strict=True)
    assert [text for value, text in numbers if 1.2 <= value <= 19] == ["2", "5", "10"]
