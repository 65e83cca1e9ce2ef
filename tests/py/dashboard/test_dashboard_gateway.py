"""The devices between the ends, on the timeline's axis: gateways, tunnel, delay box with packets' fates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from support import synthetic_gateway, synthetic_run
from support.synthetic_gateway import DROP_EVERY, LINK_NS, PASSAGE_NS, SEGMENTS

from dashboard.core.runs import load_run
from dashboard.report.html import render
from dashboard.run import curves, matrix, tables
from dashboard.run.curves_figure import curves_figure
from dashboard.run.matrix_figure import matrix_figure
from dashboard.timeline import timeline, tunnel, view
from dashboard.timeline.figure import timeline_figure
from dashboard.timeline.timeline import Timeline
from dashboard.timeline.tunnel import BACK, FAR, FORTH, NEAR
from dashboard.trial import facts


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic_gateway.gateway(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def through(run_dir: Path) -> Timeline:
    run = load_run(run_dir)
    return timeline.load(run, run.trial(0))


@pytest.fixture(scope="module")
def boxed(tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    run = load_run(synthetic_gateway.boxed(tmp_path_factory.mktemp("runs")))
    return timeline.load(run, run.trial(0))


def traces(figure: go.Figure, start: str) -> list[Any]:
    return [trace for trace in figure.data if (trace.name or "").startswith(start)]


def test_client_gateways_and_server_share_one_axis(through: Timeline) -> None:
    assert through.server is not None
    figure = timeline_figure(through, (0, through.duration_ns))
    names = ("client: new data sent", "gateway in: data arrived", "gateway out: new data sent", "server: data arrived")
    lines = [traces(figure, name)[0] for name in names]
    assert {line.yaxis for line in lines} == {None} or {line.yaxis for line in lines} == {"y"}
    when = [float(np.interp(4_000_000, line.y, line.x)) for line in lines]
    expected = np.cumsum([0, LINK_NS, PASSAGE_NS, LINK_NS]) / 1e9
    assert np.asarray(when) - when[0] == pytest.approx(expected, abs=3e-3), "thinned lines: within a point or two"
    assert {line.xaxis for line in figure.data} == {"x"}
    assert tuple(figure.layout.xaxis.range) == (0.0, through.duration_ns / 1e9)


def test_time_and_bytes_between_gateways(through: Timeline) -> None:
    assert set(through.through_gateways.value.tolist()) == {PASSAGE_NS}
    held = PASSAGE_NS // synthetic_gateway.STEP_NS * synthetic_gateway.MSS
    assert through.inside_gateways.value.max() == pytest.approx(held, abs=2 * synthetic_gateway.MSS)
    said = dict(facts.passage_facts(through))
    assert said["Gateway in to gateway out: least, median, 99 %"] == "101 ms, 101 ms, 101 ms"


def test_the_tunnel_has_both_ends_both_ways_and_every_drop(through: Timeline, run_dir: Path) -> None:
    found = through.tunnel
    assert found is not None
    sent, came = found.streams[NEAR, FORTH], found.streams[FAR, FORTH]
    assert sent.bytes_until[-1] == 1500 * SEGMENTS
    assert came.bytes_until[-1] == 1500 * (SEGMENTS - SEGMENTS // DROP_EVERY)
    assert found.streams[FAR, BACK].t_ns.size == found.streams[NEAR, BACK].t_ns.size == SEGMENTS // 10
    assert found.drop_ns.size == SEGMENTS // DROP_EVERY and set(found.drop_fate.tolist()) == {"loss"}
    figure = timeline_figure(through, (0, through.duration_ns))
    (drops,) = traces(figure, "frames lost")
    assert drops.name == f"frames lost: by the path's loss ({SEGMENTS // DROP_EVERY})"
    assert sorted(drops.x) == pytest.approx(found.drop_ns / 1e9)
    assert traces(figure, "the gateways' limit (120 Mbit/s)")
    (run_dir / "trials" / "0000" / "tunnel.parquet").rename(run_dir / "kept")
    other = tunnel.load(run_dir / "trials" / "0000", through.origin_ns)
    (run_dir / "kept").rename(run_dir / "trials" / "0000" / "tunnel.parquet")
    assert other is not None, "without captures at the gateways, the box's record has the same"
    assert other.streams[NEAR, FORTH].bytes_until[-1] == sent.bytes_until[-1]
    assert other.streams[FAR, FORTH].bytes_until[-1] == came.bytes_until[-1]


def test_a_trial_with_gateways_says_which(run_dir: Path) -> None:
    run = load_run(run_dir)
    said = dict(facts.trial_facts(run, run.trial(0)))
    assert (said["gateway.kind"], said["gateway.recovery"], said["gateway.rate"]) == ("lft", "selective", "120 Mbit/s")
    assert "RTT to the near gateway: least, median" in said and "CPU time of both gateways" in said
    assert (
        facts.trial_name(run, run.trial(0))
        == "Trial 0: scenario.case selective, transfer.congestion reno, RTT 200 ms, path.loss 1 %"
    )
    assert "gateway out: new data sent" in render(run)


def test_each_lost_packet_has_its_cause(boxed: Timeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "EVENT_LIMIT", 1000)
    assert boxed.box is not None and boxed.lost_acks is not None
    figure = timeline_figure(boxed, (0, boxed.duration_ns))
    lost = boxed.lost_rows.size
    queue = [trace.name for trace in traces(figure, "lost: queue full")]
    path = [trace.name for trace in traces(figure, "lost: by the path's loss")]
    counts = [int(name[-1].rpartition("(")[2].rstrip(")")) for name in (queue, path)]
    assert sum(counts) == lost and counts[0] == pytest.approx(lost / 3, abs=1)
    said = {fact[5] for trace in traces(figure, "lost: ") for fact in trace.customdata}
    assert said == {
        "LOST: dropped because the bottleneck's queue was full",
        "LOST: dropped by the path's loss",
        "LOST: dropped by the path's loss behind the bottleneck",
    }
    (acks,) = traces(figure, "lost ACK")
    assert len(acks.x) == boxed.lost_acks.t_ns.size > 0
    (line,) = traces(figure, "delay box: left the bottleneck")
    assert len(line.x) > 100


def test_a_loss_sweep_has_a_curve_a_case_beside_the_paper(tmp_path: Path) -> None:
    run = load_run(synthetic_run.losses(tmp_path))
    built = curves.build(run)
    assert built is not None
    assert [curve.series for curve in built.curves] == ["selective", "bbr", "cubic"]
    figure = curves_figure(built)
    assert figure.layout.legend.title.text.startswith("filled: median"), "there are two repeats"
    assert (figure.layout.xaxis.type, *figure.layout.xaxis.ticktext) == ("log", "0", "0.1", "1", "10")
    assert list(traces(figure, "selective")[0].x) == [1e5, 1e6, 1e7, 1e8], "0 is a power to the left of 0.1 %"
    assert figure.layout.yaxis.type == "log"
    assert len(traces(figure, "not valid")[0].x) == 1
    assert list(traces(figure, "paper (comet-2004/fig12)")[0].y) == [710.0], "once, though beside each recovery"
    assert traces(figure, "limit × (1 − loss)")[0].y[-1] == pytest.approx(720)
    table = tables.curve_table(built)
    assert table.head == ("path.loss", "selective", "bbr", "cubic", "Paper")
    assert table.rows[1][-1] == "710 Mbit/s" and table.rows[0][-1] == "–"
    text = render(run)
    assert "Short-term throughput by path.loss" in text and "Comparison with the paper (comet-2004/fig12)" in text
    assert "Not in the figure: 1 without a throughput" in text
    assert ">scenario.case</th>" in text and ">gateway.kind</th>" not in text, "a case decides the gateway"


def test_the_papers_cipher_stands_beside_no_other_case(tmp_path: Path) -> None:
    """Reference rows that name a case belong to that case alone."""
    run = load_run(synthetic_run.losses(tmp_path))
    run.rows[-1]["rtt_ns"] = 400_000_000  # a matrix has two columns at least
    report = {"kind": "matrix", "x": "rtt_ns", "y": "loss_ppb", "series": "case", "reference": ["comet-2004-fig12"]}
    run.scenario["report"] = report
    grids = matrix.build(run)
    assert grids is not None
    assert {panel.series: len(panel.paper) for panel in grids.panels} == {"selective": 1, "bbr": 0, "cubic": 0}
    assert matrix_figure(grids)
