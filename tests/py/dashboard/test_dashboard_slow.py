"""Trials without stops: the slowest spans, the facts known about them, and the buttons that lead there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import synthetic_gateway, synthetic_run, synthetic_slow
from support.synthetic_slow import DENT, DENT_END, DIP, DIP_END, RESENT

from dashboard.core.runs import load_run
from dashboard.core.series import Series
from dashboard.report.html import render
from dashboard.server.app import Runs, page_at
from dashboard.timeline import timeline
from dashboard.timeline.figure import headline, timeline_figure
from dashboard.timeline.timeline import Timeline
from dashboard.trial import tables


def loaded(path: Path) -> Timeline:
    run = load_run(path)
    return timeline.load(run, run.trial(0))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic_slow.slow(tmp_path_factory.mktemp("runs"))


def test_the_dips_are_found_the_costlier_first(path: Path) -> None:
    found = loaded(path).visits
    spans = [(span.t0_ns / 1e9, span.t1_ns / 1e9) for span in found]
    assert spans == [pytest.approx((DIP, DIP_END), abs=0.1), pytest.approx((DENT, DENT_END), abs=0.1)]
    assert f"{RESENT} retransmissions" in found[0].text and f"{RESENT} lost segments" in found[0].text
    assert "% of the line)" in found[0].text and "RTT 8.4 ms" in found[0].text
    share = float(found[0].text.split("(")[1].split(" %")[0])
    assert share == pytest.approx(24, abs=2), "a quarter of 0.96 of the line"
    assert "retransmission" not in found[1].text


def test_the_headline_and_the_report_say_where_it_was_slow(path: Path) -> None:
    said = headline(loaded(path))
    assert said.startswith("No stops. Slowest span: ") and "Mbit/s" in said and f"{RESENT} retransmissions" in said
    html = render(load_run(path))
    assert "the slowest span in its context, then the whole transfer" in html and "first stop" not in html
    assert "Slowest spans" in html and 'id="whole-0"' in html
    assert [row[2] for row in tables.visit_table(loaded(path)).rows] == [span.text for span in loaded(path).visits]


def test_the_page_opens_at_the_slowest_span_and_its_buttons_work(path: Path) -> None:
    figure = timeline_figure(loaded(path))
    start, end = figure.layout.xaxis.range
    assert 0 < start < DIP < DIP_END < end < DENT, "in its context"
    assert any(shape.x0 == pytest.approx(DIP, abs=0.1) for shape in figure.layout.shapes)
    page = str(page_at(Runs(path.parent), f"/run/{path.name}/trial/0"))
    assert "Slowest span" in page and "Next slowest span" in page and "disabled=True" not in page


def test_a_transfer_at_one_rate_has_neither(tmp_path: Path) -> None:
    even = loaded(synthetic_slow.slow(tmp_path, dips=False))
    assert even.visits == () and headline(even) == "No stops. No span is much slower than the rest"
    page = str(page_at(Runs(tmp_path), f"/run/{next(tmp_path.iterdir()).name}/trial/0"))
    assert page.count("disabled=True") == 3


def test_a_transfer_that_is_slow_throughout_is_one_span(tmp_path: Path) -> None:
    """The line is ten times as fast as the transfer, which is therefore slow from beginning to end."""
    path = synthetic_slow.slow(tmp_path, dips=False)
    file = path / "trials" / "0000" / "params.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"rate_bps": 10 * synthetic_slow.RATE_BPS}))
    (whole,) = loaded(path).visits
    assert (whole.t1_ns - whole.t0_ns) / 1e9 == pytest.approx(synthetic_slow.LENGTH_S, rel=0.01)
    assert whole.text.startswith("43.2 Mbit/s (9.6 % of the line): all of the transfer, RTT 8.4 ms")


def test_stops_come_before_slow_spans(tmp_path: Path) -> None:
    collapsed = loaded(synthetic_run.seqack(tmp_path))
    assert collapsed.visits == collapsed.stops != ()


def test_behind_gateways_the_servers_rate_counts(tmp_path: Path) -> None:
    through = loaded(synthetic_gateway.gateway(tmp_path))
    assert through.server is not None and through.visits == ()


def test_cwnd_is_said_to_go_down_where_it_did(path: Path) -> None:
    """Three cases: the window stays the same in the dip, grows in it, and is halved in it."""
    found = loaded(path)
    t = np.arange(0, 10**10, 10**7)
    steady = np.full(t.size, 100_000)
    for cwnd, down in ((steady, False), (steady + t // 10**6, False), (np.where(t < 3.2e9, steady, 50_000), True)):
        texts = [span.text for span in replace(found, cwnd=Series(t, cwnd)).visits]
        assert ("cwnd down to 48.8 KB" in texts[0]) == down and ("cwnd down" in texts[0]) == down
