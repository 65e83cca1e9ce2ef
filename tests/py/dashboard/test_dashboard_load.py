"""Latency under load on the pages: exchanges and queues over time, both ways, and the distribution by setting."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import synthetic_competitor, synthetic_run
from support.page_texts import texts_of_page

from dashboard.core.runs import load_run
from dashboard.report.html import render
from dashboard.run import latency
from dashboard.run import page as run_page
from dashboard.run.latency_figure import latency_figure
from dashboard.trial import flows, load
from dashboard.trial import page as trial_page
from dashboard.trial.flows_figure import flows_figure
from dashboard.trial.load_figure import load_figure

S, MS = 10**9, 10**6


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A run whose flow `rival` has become one of exchanges, with a recorded box and an outage."""
    run = synthetic_competitor.competitor(tmp_path)
    folder = run / "trials" / "0000"
    status, transfer = (json.loads((folder / f"{name}.json").read_text()) for name in ("status", "transfer"))
    began, real = status["clock"]["monotonic_ns"], status["clock"]["realtime_ns"]
    transfer["sender"] |= {"t0_monotonic_ns": began, "t0_realtime_ns": real}
    (folder / "transfer.json").write_text(json.dumps(transfer))
    took = np.arange(1, 101) * MS
    table = {"t_ns": began + np.arange(100) * 20 * MS, "stream": np.zeros(100, np.int64), "latency_ns": took}
    pq.write_table(pa.table(table), folder / "flows" / "rival" / "latencies.parquet")
    rows = 4
    queue = {
        "direction": ["forward"] * rows,
        "t0_ns": real + np.arange(rows) * S // 10,
        "t1_ns": real + np.arange(1, rows + 1) * S // 10,
        "packets": [1, 2, 0, 1],
        "marked": [0, 1, 0, 0],
        "dropped": [0] * rows,
        **{f"sojourn_{name}_ns": pa.array([MS, 2 * MS, None, 4 * MS]) for name in ("p50", "p90", "p99", "max")},
        "queued_mean_bytes": [0.0, 10.0, 0.0, 5.0],
        "queued_max_bytes": [0, 3000, 0, 1500],
    }
    pq.write_table(pa.table(queue), folder / "queue.parquet")
    outage = {"begin_ns": S, "end_ns": 2 * S, "recovery_ns": 5, "error_ns": 0, "why": None}
    (folder / "recovery.json").write_text(json.dumps({"v": 4, "flows": {"main": [outage], "rival": [outage]}}))
    results = pq.read_table(run / "results.parquet").to_pylist()
    results[0]["exchanges_per_s"], results[1]["exchanges_per_s"] = None, 50.0
    synthetic_run.finish(run, results)
    return run


def test_exchanges_queue_marks_and_outages_are_drawn_on_one_axis(path: Path) -> None:
    run = load_run(path)
    found = load.load(run.trial(0))
    assert found is not None
    (rival,) = found.latencies
    assert rival.name == "rival" and rival.t_s[0] == pytest.approx(0.001), "the first one ended 1 ms after its begin"
    assert found.outages_s == ((1.0, 2.0),), "one outage of two flows is drawn once"
    figure = load_figure(found)
    drawn = {trace.name: trace for trace in figure.data}
    assert max(drawn["rival"].y) == pytest.approx(100), "ms"
    assert list(drawn["to the receiver, median"].y) == pytest.approx([1, 2, 4]), "spans without packets are left out"
    assert set(drawn) >= {"to the receiver, mean", "to the receiver, marked"}
    assert "to the receiver, dropped" not in drawn
    assert {(shape.x0, shape.x1) for shape in figure.layout.shapes} == {(1.0, 2.0)}


def test_a_setting_has_a_box_and_a_distribution(path: Path) -> None:
    found = latency.build(load_run(path))
    (one,) = found
    assert (one.name, one.many, one.trials) == ("rival", 100, 1)
    assert one.at(0.5) == 50 * MS and one.at(0.99) == 99 * MS and one.at(1) == 100 * MS
    box, line = latency_figure(found).data
    assert (box.median[0], box.q1[0], box.q3[0]) == pytest.approx((50, 25, 75), abs=1)
    assert line.y[-1] == 1 and line.x[-1] == pytest.approx(100)
    assert latency.latency_table(found).rows == (("rival", "100", "50 ms", "90 ms", "99 ms", "100 ms"),)


def test_pages_and_report_have_them(path: Path) -> None:
    run = load_run(path)
    assert "Latency and queues over time" in list(texts_of_page(trial_page.page(run, run.trial(0))))
    assert "Latency of the exchanges" in list(texts_of_page(run_page.page(run)))
    text = render(run)
    assert "Latency of the exchanges" in text and 'id="load-0"' in text and 'id="flows-0"' in text


def test_a_run_without_exchanges_has_neither(tmp_path: Path) -> None:
    run = load_run(synthetic_run.seqack(tmp_path))
    assert latency.build(run) == [] and load.load(run.trial(0)) is None
    assert "Latency of the exchanges" not in render(run)


def test_rates_of_both_ways_have_a_panel_each(path: Path) -> None:
    file = path / "trials" / "0000" / "flows.parquet"
    forth = pq.read_table(file)
    back = forth.set_column(forth.column_names.index("direction"), "direction", pa.array(["reverse"] * forth.num_rows))
    pq.write_table(pa.concat_tables([forth, back]), file)
    run = load_run(path)
    found = flows.load(run, run.trial(0))
    assert found is not None and found.back is not None
    assert [flow.name for flow in found.back.flows] == [flow.name for flow in found.flows]
    names = [trace.name for trace in flows_figure(found).data]
    assert names.count("rival, bbr") == 2 and "Jain's index of the flows that run, reverse direction" in names


def test_seconds_of_earlier_runs_have_one_direction(path: Path) -> None:
    file = path / "trials" / "0000" / "flows.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["direction"]), file)
    run = load_run(path)
    found = flows.load(run, run.trial(0))
    assert found is not None and found.back is None and len(found.flows) == 2
