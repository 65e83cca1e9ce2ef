"""A reader's choices for a run's figure: the address contains them, and the figure and its notes follow them."""

from __future__ import annotations

import random
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from support import synthetic_plan
from support.page_texts import texts_of_page
from support.synthetic_results import rows

from dashboard.core import choice
from dashboard.core.choice import Choice
from dashboard.core.runs import Run, load_run
from dashboard.run import curves, matrix, sweep
from dashboard.run.curves_figure import curves_figure
from dashboard.server.app import Runs, page_at
from scenarios.plan.document import Document
from scenarios.plan.plan import make_plan

GRID = {
    "path.rate": ["10Mbit", "20Mbit", "45Mbit"],
    "path.loss": ["0.1%", "1%"],
    "transfer.congestion": ["reno", "cubic"],
}


def run_of(tmp_path: Path, swept: dict[str, list[Any]], **report: Any) -> Run:
    values: dict[str, Any] = {
        "scenario": {"name": "plain"},
        "path": {"delay": "10ms", "rate": "45Mbit", "queue": "110KB"},
        "transfer": {"bytes": "1MB"},
        "run": {"repeat": 2},
        "sweep": swept,
    }
    plan = make_plan(Document(str(tmp_path / "plain.toml"), values | ({"report": report} if report else {})), 1)
    table = [row | {"valid": True} for row in rows(plan, random.Random(5))]
    return load_run(synthetic_plan.write(tmp_path, plan, table))


def test_a_choice_is_the_address_and_back() -> None:
    made = Choice("path.rate", "none", "retransmits", "path.loss", frozenset({"paper", "theory"}))
    assert made.search == "?x=path.rate&by=none&value=retransmits&series=path.loss&hide=paper,theory"
    assert choice.of_search(made.search) == made
    assert (Choice().search, choice.of_search("?token=1&hide=nothing")) == ("", Choice())


def test_the_figure_has_the_chosen_axes_result_and_lines(tmp_path: Path) -> None:
    run = run_of(tmp_path, GRID)
    assert matrix.build(run) is not None, "what nobody asked for is a matrix of the two numeric settings"
    chosen = choice.applied(run, choice.of_search("?x=path.loss&by=none&value=retransmits"))
    built = curves.build(chosen)
    assert built is not None and matrix.build(chosen) is None
    assert (built.x_name, built.y, len(built.curves)) == ("path.loss", "retransmits", 6)
    other = matrix.build(choice.applied(run, choice.of_search("?x=path.loss&by=transfer.congestion")))
    assert other is not None and (other.x.name, other.y.name) == ("path.loss", "transfer.congestion")
    named = curves.build(choice.applied(run, choice.of_search("?x=path.rate&by=none&series=path.loss")))
    assert named is not None and named.curves[0].series.startswith("0.1 %")


def test_a_report_of_the_scenario_can_be_left_for_another_figure(tmp_path: Path) -> None:
    run = run_of(
        tmp_path, {"transfer.window": ["32KB", "64KB"], "path.rate": ["10Mbit", "45Mbit"]}, x="transfer.window"
    )
    assert sweep.build(run) is not None and curves.build(run) is None
    chosen = choice.applied(run, choice.of_search("?x=path.rate"))
    built = curves.build(chosen)
    assert built is not None and [curve.series for curve in built.curves] == ["32 KB", "64 KB"]


def test_controls_say_only_what_differs_from_the_report(tmp_path: Path) -> None:
    run = run_of(tmp_path, GRID)
    now = choice.effective(run)
    assert (now.x, now.by, now.value, now.series) == ("path.rate", "path.loss", "short_term_bps", "all")
    assert choice.of_controls(run, now.x, now.by, now.value, now.series, ["theory", "paper"]) == Choice()
    assert choice.of_controls(run, now.x, "none", now.value, now.series, ["paper"]).search == "?by=none&hide=theory"
    assert choice.axes(run) == ["path.rate", "path.loss", "transfer.congestion"]
    assert "short_term_bps" in choice.results(run) and "latency_p50_ns" not in choice.results(run)


def test_the_page_follows_its_address_and_says_what_it_cannot_draw(tmp_path: Path) -> None:
    run = run_of(tmp_path, GRID)
    address = f"/run/{run.name}"
    said = list(texts_of_page(page_at(Runs(tmp_path), address, "?x=path.loss&by=none&value=retransmits")))
    assert "Retransmissions by path.loss" in said
    said = list(texts_of_page(page_at(Runs(tmp_path), address, "?x=path.los")))
    assert any("did you mean 'path.loss'?" in text for text in said)


def test_theory_is_drawn_from_settings_and_can_be_hidden(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        {"path.loss": ["0.1%", "1%"], "transfer.window": ["16KB"], "transfer.congestion": ["reno"]},
        x="path.loss",
    )
    built = curves.build(run)
    assert built is not None
    laws = {line.law: dict(line.points) for line in built.theory}
    mss_bits, rtt_s = (1500 - 40) * 8, 0.02
    assert laws["limit × (1 − loss)"] == pytest.approx({10**6: 45e6 * 0.999, 10**7: 45e6 * 0.99})
    assert laws["window ÷ RTT"] == pytest.approx(dict.fromkeys((10**6, 10**7), 16 * 1024 * 8 / rtt_s))
    assert laws["Mathis (Reno)"] == pytest.approx(
        {10**6: mss_bits / rtt_s * sqrt(1.5 / 0.001), 10**7: mss_bits / rtt_s * sqrt(1.5 / 0.01)}
    )
    assert {"Mathis (Reno)", "window ÷ RTT"} <= {trace.name for trace in curves_figure(built).data}
    hidden = curves_figure(curves.without(built, {"theory"}))
    assert not {trace.name for trace in hidden.data} & set(laws)


def test_series_that_differ_in_what_a_law_depends_on_have_lines_of_their_own(tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        {"path.loss": ["0.1%", "1%"], "path.delay": ["10ms", "50ms"], "transfer.congestion": ["reno"]},
        x="path.loss",
    )
    built = curves.build(run)
    assert built is not None
    own = {line.law: {other.series for other in built.theory if other.law == line.law} for line in built.theory}
    assert own == {"limit × (1 − loss)": {""}, "Mathis (Reno)": {"10 ms", "50 ms"}}


@pytest.mark.parametrize("x", ["path.loss", "transfer.congestion"])
def test_mathis_law_is_drawn_for_reno_alone(tmp_path: Path, x: str) -> None:
    sweep = {"path.loss": ["0.1%", "1%"], "transfer.congestion": ["reno", "cubic", "bbr"]}
    built = curves.build(run_of(tmp_path, sweep, x=x))
    assert built is not None
    drawn = {line.series: [place for place, _ in line.points] for line in built.theory if line.law == "Mathis (Reno)"}
    if x == "path.loss":
        assert list(drawn.values()) == [[10**6, 10**7]]
    else:  # on an axis of names a reference line from Reno would cross the other names
        assert drawn == {}
