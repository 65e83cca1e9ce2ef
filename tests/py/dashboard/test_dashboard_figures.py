"""Figures: what must be seen in them, whatever the zoom and however many packets."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from support import synthetic_run

from dashboard.core.runs import load_run
from dashboard.core.series import Series
from dashboard.run import sweep
from dashboard.run.sweep_figure import sweep_figure
from dashboard.timeline import timeline, view
from dashboard.timeline.figure import timeline_figure
from dashboard.timeline.flow import SPURIOUS, TIMEOUT, Events
from dashboard.timeline.panels import PANELS
from dashboard.timeline.timeline import Timeline
from netcommon import readable


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    """About 60,000 segments, 23 lost a cycle of 600."""
    run = load_run(synthetic_run.seqack(tmp_path_factory.mktemp("runs"), segments=60_000, cycle_segments=600))
    return timeline.load(run, run.trial(0))


def trace(figure: go.Figure, start: str) -> Any:
    return next(item for item in figure.data if (item.name or "").startswith(start))


def whole(loaded: Timeline) -> tuple[int, int]:
    return 0, loaded.duration_ns


def test_lines_are_thinned_and_every_retransmission_loss_and_time_out_is_counted(big: Timeline) -> None:
    """Few events are drawn one by one. Where they would hide the lines, each mark stands for several and says how
    many."""
    figure = timeline_figure(big, whole(big), points=1000)
    line = trace(figure, "sender: new data")
    assert len(set(line.customdata[:, 1])) <= 1000 < big.sent_rows[0].size  # a packet may have a corner, too
    assert line.line.shape == "linear" and len(line.x) <= 2000
    for name, rows in (
        ("retransmission after time-out", big.sent_rows[TIMEOUT]),
        ("spurious", big.sent_rows[SPURIOUS]),
        ("lost", big.lost_rows),
    ):
        marks = trace(figure, name)
        assert len(marks.x) <= view.EVENT_LIMIT < rows.size, name
        assert sum(fact[6] for fact in marks.customdata) == rows.size, name
        assert marks.name.endswith(f"({rows.size:,}, thinned)")
    assert len(trace(figure, "retransmission time-out").x) == len(big.stops)
    close = timeline_figure(big, big.visit_view_ns(5), points=1500)
    assert trace(close, "sender: new data").line.shape == "hv", "every packet drawn: plotly.js makes the corners"
    start, end = (1e9 * limit for limit in close.layout.xaxis.range)
    lost = big.sent_ns[big.lost_rows]
    lost = lost[(lost >= start) & (lost <= end)]
    assert sorted(trace(close, "lost").x) == pytest.approx(np.sort(lost) / 1e9), "zoomed in: each of them"
    assert trace(close, "lost").name == f"lost ({lost.size})"


def test_zooming_in_brings_every_packet(big: Timeline) -> None:
    start, end = big.visit_view_ns(5)
    figure = timeline_figure(big, (start, end), points=1500)
    inside = (big.sent_ns >= start) & (big.sent_ns <= end) & (big.kind == 0)
    drawn = np.asarray(trace(figure, "sender: new data").x)
    assert ((drawn >= start / 1e9) & (drawn <= end / 1e9)).sum() == inside.sum()
    assert "every packet drawn" in figure.layout.title.subtitle.text


def test_too_many_marks_are_gathered_and_it_is_said(big: Timeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "EVENT_LIMIT", 100)
    monkeypatch.setattr(view, "EVENT_BINS", 50)
    figure = timeline_figure(big, whole(big))
    lost = trace(figure, "lost")
    assert len(lost.x) <= 50
    assert sum(fact[6] for fact in lost.customdata) == big.lost_rows.size
    assert lost.name == f"lost ({big.lost_rows.size:,}, thinned)"
    assert "marks thinned" in figure.layout.title.subtitle.text


def test_stops_are_shaded_and_labelled_with_their_cause(big: Timeline) -> None:
    figure = timeline_figure(big)
    assert len([shape for shape in figure.layout.shapes if shape.type == "rect"]) >= 1
    text = figure.layout.annotations[0].text.replace("<br>", " ")
    assert "retransmission time-out 1.02 s after a tail-drop burst of 23 packets" in text
    share = big.stopped_share
    assert share is not None and f"s = {readable.number(share, 3)}" in figure.layout.title.text


def test_hover_names_segment_kind_and_fate(big: Timeline) -> None:
    figure = timeline_figure(big)
    kind, seq, length, transmission, _, fate = trace(figure, "sender: new data").customdata[0]
    assert (kind, seq, length, transmission) == ("new data", "1", "4,312", 1)
    assert fate.startswith("arrived ") and fate.endswith(" ms later")
    assert "LOST" in trace(figure, "lost").customdata[0][5]


def test_panels_share_one_time_axis(big: Timeline) -> None:
    figure = timeline_figure(big)
    assert {trace.xaxis for trace in figure.data} == {"x"}
    assert {trace.yaxis for trace in figure.data} == {"y", *(f"y{row}" for row in range(2, len(PANELS) + 1))}
    assert figure.layout.xaxis.anchor == f"y{len(PANELS)}", "its numbers are under the last panel"


def test_a_capture_without_anything_is_an_empty_figure(big: Timeline) -> None:
    none = np.zeros(0, np.int64)
    empty = Timeline(0, {}, {}, none, none, none, none, none.astype(np.uint16), none.astype(np.uint8), none, none,
                     none, none, none, none.astype(bool), Events(none, none, none.astype(np.str_), none, none), (),
                     Series(none, none))  # fmt: skip
    assert timeline_figure(empty).layout.title.text == "Stopped share not analysed"


@pytest.mark.parametrize("log_x", [True, False])
def test_sweep_draws_every_trial_the_paper_and_what_physics_allows(tmp_path: Path, log_x: bool) -> None:
    built = sweep.build(load_run(synthetic_run.sweep(tmp_path)))
    assert built is not None
    figure = sweep_figure(built, log_x=log_x)
    assert "bar: minimum to maximum" in figure.layout.legend.title.text
    windows = len(synthetic_run.WINDOWS_KB)
    assert len(trace(figure, "modern: single trials").x) == 3 * windows
    assert len(trace(figure, "bsd-1995: single trials").x) == 3 * windows - 1
    bad = trace(figure, "not valid")
    assert len(bad.x) == 1 and synthetic_run.INVALID_REASON in bad.customdata[0][1]
    assert len(trace(figure, "paper").x) == 9
    laws = ("window ÷ RTT of the empty path (8.4 ms)", "window ÷ measured RTT")
    for name in (*laws, "line rate (45 Mbit/s)", "path and queue full"):
        assert trace(figure, name)
    assert figure.layout.xaxis.type == ("log" if log_x else "linear")
    heights = [note.yshift for note in figure.layout.annotations]  # of the regions' names
    assert len(heights) == 3 and all(one != next_to_it for one, next_to_it in pairwise(heights))


def test_names_from_files_are_escaped_in_figures(tmp_path: Path) -> None:
    run = load_run(synthetic_run.sweep(tmp_path, repeats=1))
    for row in run.rows:
        row["profile"], row["valid"], row["reasons"] = "<b>x</b>", False, "<i>why</i>"
    built = sweep.build(run)
    assert built is not None
    text = sweep_figure(built).to_json()
    assert "minimum to maximum" not in text, "without repeats there are no bars"
    assert "<i>why" not in text and "<b>x" not in text and "\\u003ci" not in text


def test_a_label_keeps_numbers_with_their_units(big: Timeline) -> None:
    for width_px in range(250, 1200, 50):
        text = timeline_figure(big, width_px=width_px).layout.annotations[0].text
        assert not re.search(r"\d<br>[a-z]", text), f"{width_px} px: {text}"
