"""A trial with several flows: every curve belongs to the flow that its legend names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support import synthetic_competitor, synthetic_gateway, synthetic_run
from support.page_texts import texts_of_page
from support.synthetic_capture import CONTROL_FLOW, MAIN_FLOW
from support.synthetic_competitor import WINDOWS

import lfp
from dashboard.core import congestion
from dashboard.core.congestion_figure import congestion_figure
from dashboard.core.runs import load_run
from dashboard.timeline import timeline
from dashboard.timeline.figure import timeline_figure
from dashboard.trial import flows
from dashboard.trial import page as trial_page
from dashboard.trial.flows_figure import flows_figure
from dashboard.trial.tables import outage_table


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return synthetic_competitor.competitor(tmp_path)


def test_windows_over_time_are_each_of_its_own_flow(path: Path) -> None:
    drawn = {trace.name: trace for trace in congestion_figure(congestion.of_flows(load_run(path), 0)).data}
    assert set(drawn) == {"main, reno", "rival, bbr"}
    for name, (low, high) in zip(drawn, WINDOWS.values(), strict=True):
        assert (min(drawn[name].y), max(drawn[name].y)) == (low, high)
    assert min(drawn["rival, bbr"].x) == pytest.approx(2.0), "it begins 2 s after main, on one axis"
    assert len({trace.line.color for trace in drawn.values()}) == 2


def test_the_window_in_a_timeline_is_that_of_its_connection(path: Path) -> None:
    run = load_run(path)
    trial = run.trial(0)
    assert trial.flows == [CONTROL_FLOW, MAIN_FLOW], "[transfer]'s own comes first, though the rival has more data"
    for flow, (low, high) in zip(trial.flows, WINDOWS.values(), strict=True):
        cwnd = timeline.load(run, trial, flow).cwnd.value
        assert (cwnd.min(), cwnd.max()) == (1000 * low, 1000 * high)


def test_a_connection_that_is_no_flow_has_no_window(tmp_path: Path) -> None:
    path = synthetic_run.seqack(tmp_path)
    run = load_run(path)
    assert timeline.load(run, run.trial(0), MAIN_FLOW).cwnd.t_ns.size, "an older run: the one with the most data"
    assert not timeline.load(run, run.trial(0), CONTROL_FLOW).cwnd.t_ns.size


def test_the_seconds_are_drawn_with_what_all_flows_have_below_the_line(path: Path) -> None:
    run = load_run(path)
    found = flows.load(run, run.trial(0))
    assert found is not None
    drawn = {trace.name: trace for trace in flows_figure(found).data}
    assert list(drawn)[:3] == ["main, reno", "rival, bbr", "all flows together"]
    assert list(drawn["all flows together"].y) == pytest.approx([32.0] * 5), "Mbit/s; the last one ends the step line"
    assert list(drawn["rival, bbr"].x) == pytest.approx([2.0, 3.0, 4.0])
    fair = list(drawn["Jain's index of the flows that run"].y)
    assert fair[2:] == pytest.approx([0.8] * 3) and all(index != index for index in fair[:2])


def test_the_page_shows_both_figures_and_the_sum_of_the_common_span(path: Path) -> None:
    run = load_run(path)
    texts = " ".join(texts_of_page(trial_page.page(run, run.trial(0))))
    assert "How the flows share the line" in texts and "Congestion window over time" in texts
    assert "All flows ran for 2 s: together 32 Mbit/s, Jain's index 0.8." in texts


def test_a_notebook_has_the_seconds_on_the_trials_axis(path: Path) -> None:
    rows = lfp.load(path).trial(0).table("flows").to_pylist()
    assert [row["t0_ns"] for row in rows if row["flow_name"] == "main"] == [0, 10**9, 2 * 10**9, 3 * 10**9]


def test_the_page_says_how_each_outage_was_recovered_from(path: Path) -> None:
    outages = [
        {"begin_ns": 10**9, "end_ns": 15 * 10**8, "recovery_ns": 3 * 10**8, "error_ns": 10**8, "why": None},
        {"begin_ns": 3 * 10**9, "end_ns": 35 * 10**8, "recovery_ns": None, "why": "the transfer ended before"},
    ]
    (path / "trials" / "0000" / "recovery.json").write_text(json.dumps({"v": 1, "flows": {"main": outages}}))
    run = load_run(path)
    found = outage_table(run.trial(0))
    assert found is not None and found.rows == (
        ("1", "500 ms", "300 ms ± 100 ms"),
        ("3", "500 ms", "not known: the transfer ended before"),
    )
    assert "Recovery from outages" in list(texts_of_page(trial_page.page(run, run.trial(0))))


@pytest.mark.parametrize("write", [synthetic_gateway.gateway, synthetic_gateway.boxed, synthetic_run.seqack])
def test_no_two_lines_of_a_panel_look_alike(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    """With gateways, the smoothed RTT and the time through the gateways once had the same colour."""
    run = load_run(write(tmp_path))
    loaded = timeline.load(run, run.trial(0))
    assert loaded.srtt.t_ns.size
    figure = timeline_figure(loaded, (0, loaded.duration_ns))
    lines = [trace for trace in figure.data if "lines" in trace.mode and trace.line.color]
    looks = [
        (trace.yaxis or "y", trace.line.color, trace.line.dash)
        for trace in lines
        if not str(trace.name).startswith("limited by")
    ]
    assert len(looks) > 5 and sorted({look for look in looks if looks.count(look) > 1}, key=str) == []


def test_the_page_of_a_failed_trial_shows_what_was_measured_until_then(tmp_path: Path) -> None:
    run = synthetic_run.seqack(tmp_path)
    file = run / "trials" / "0000" / "status.json"
    failed = {"state": "failed", "error": "near-gateway: ended during the transfer, exit status 7 (no licence)"}
    file.write_text(json.dumps(json.loads(file.read_text()) | failed))
    loaded = load_run(run)
    texts = list(texts_of_page(trial_page.page(loaded, loaded.trial(0))))
    assert f"This trial failed: {failed['error']}. What follows is what was measured until then." in texts
    assert "Stops" in texts and "Events in view" in texts
