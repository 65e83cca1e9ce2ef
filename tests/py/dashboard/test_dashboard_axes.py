"""A run whose scenario has no [report] gets a figure, too. Its axes are the settings in which its trials differ."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from support import synthetic_plan
from support.page_texts import texts_of_page
from support.synthetic_results import random_plan, rows

from dashboard.core.asked import chosen_axes
from dashboard.core.runs import Run, load_run
from dashboard.core.units import ticks_named
from dashboard.report.html import render
from dashboard.run import curves, matrix, sweep
from dashboard.run.curves_figure import curves_figure
from dashboard.run.matrix_figure import matrix_figure
from dashboard.run.page import page
from scenarios.plan.document import Document
from scenarios.plan.plan import make_plan

RATES = ["10Mbit", "20Mbit", "45Mbit"]
CONTROLS = ["reno", "cubic"]


def unasked(tmp_path: Path, swept: dict[str, list[Any]], report: dict[str, Any] | None = None) -> Run:
    """A run of a scenario that names no x."""
    values: dict[str, Any] = {
        "scenario": {"name": "plain"},
        "path": {"delay": "4ms", "rate": "45Mbit", "queue": "110KB"},
        "transfer": {"bytes": "1MB"},
        "run": {"repeat": 2},
        "sweep": swept,
    }
    plan = make_plan(Document(str(tmp_path / "plain.toml"), values | ({"report": report} if report else {})), 1)
    return load_run(synthetic_plan.write(tmp_path, plan, rows(plan, random.Random(5))))


def test_one_numeric_setting_is_the_axis_and_texts_are_lines(tmp_path: Path) -> None:
    run = unasked(tmp_path, {"transfer.congestion": CONTROLS, "path.rate": RATES})
    built = curves.build(run)
    assert built is not None and matrix.build(run) is None
    assert (built.x_name, [curve.series for curve in built.curves]) == ("path.rate", CONTROLS)
    figure = curves_figure(built)
    assert figure.layout.xaxis.title.text == "Rate of the bottleneck (Mbit/s)"
    assert list(figure.layout.xaxis.ticktext) == ["10", "20", "45"]


def test_two_numeric_settings_are_a_matrix_with_the_longer_one_across(tmp_path: Path) -> None:
    run = unasked(tmp_path, {"path.loss": ["0", "1%"], "transfer.congestion": CONTROLS, "path.rate": RATES})
    grids = matrix.build(run)
    assert grids is not None and curves.build(run) is None
    assert (grids.x.name, grids.y.name) == ("path.rate", "path.loss")
    assert [panel.series for panel in grids.panels] == CONTROLS
    assert all(len(panel.cells) <= 6 for panel in grids.panels)
    figure = matrix_figure(grids)
    titles = figure.layout.xaxis.title.text, figure.layout.yaxis.title.text
    assert titles == ("Rate of the bottleneck (Mbit/s)", "Loss before the<br>bottleneck (%)")
    assert list(figure.layout.yaxis.ticktext) == ["0", "1"]


def test_losses_have_a_logarithmic_axis_with_a_place_for_none(tmp_path: Path) -> None:
    built = curves.build(unasked(tmp_path, {"path.loss": ["0", "0.01%", "0.1%", "1%"]}))
    assert built is not None
    figure = curves_figure(built)
    axis, places = figure.layout.xaxis, list(figure.data[0].x)
    assert axis.type == "log" and list(axis.ticktext) == ["0", "0.01", "0.1", "1"]
    assert list(axis.tickvals) == places == sorted(places) and places[0] == pytest.approx(places[1] / 10)
    (gap,) = [shape for shape in figure.layout.shapes if shape.type == "line"]
    assert places[0] < gap.x0 == gap.x1 < places[1]


def test_a_unit_that_all_ticks_share_is_in_the_title_once() -> None:
    assert ticks_named("Loss", ["0 %", "0.1 %", "1 %"]) == ("Loss (%)", ["0", "0.1", "1"])
    assert ticks_named("Window", ["64 KB", "1 MB"]) == ("Window", ["64 KB", "1 MB"])
    assert ticks_named("Delay", ["0 ns", "500 µs", "2 ms"]) == ("Delay", ["0", "500 µs", "2 ms"])
    assert ticks_named("Round-trip time", ["no delay", "2 ms"]) == ("Round-trip time (ms)", ["no delay", "2"])
    assert ticks_named("Streams", ["1", "16"]) == ("Streams", ["1", "16"])


def test_of_settings_with_as_many_values_the_first_swept_one_is_across(tmp_path: Path) -> None:
    grids = matrix.build(unasked(tmp_path, {"path.queue": ["30KB", "60KB"], "path.loss": ["0", "1%"]}))
    assert grids is not None and (grids.x.name, grids.y.name) == ("path.queue", "path.loss")


def test_texts_alone_are_curves_over_the_one_with_most_values(tmp_path: Path) -> None:
    run = unasked(tmp_path, {"transfer.congestion": CONTROLS, "profile.name": ["bsd-1995", "modern", "bbr"]})
    built = curves.build(run)
    assert built is not None and built.x_name == "profile.name"
    assert [curve.series for curve in built.curves] == CONTROLS


def test_names_are_points_without_lines_and_a_long_one_is_broken(tmp_path: Path) -> None:
    """A line between two models of loss would suggest values between them."""
    flaps = "time:" + ",".join(f"{n}s-{n}.05s" for n in range(40, 48))
    run = unasked(
        tmp_path,
        {"path.loss": ["time:40s-42s", flaps], "transfer.congestion": CONTROLS},
        {"x": "path.loss", "series": "congestion"},
    )
    built = curves.build(run)
    assert built is not None
    figure = curves_figure(built)
    assert {trace.mode for trace in figure.data} == {"markers"}
    short, long = figure.layout.xaxis.ticktext
    assert short == "time:40s-42s" and long.endswith(" …")
    assert max(map(len, long.split("<br>"))) <= 26
    assert list(figure.data[0].x) == ["time:40s-42s", flaps]  # hover texts have the whole name


def test_windows_alone_keep_their_own_figure(tmp_path: Path) -> None:
    run = unasked(tmp_path, {"transfer.window": ["32KB", "64KB", "128KB"], "profile.name": ["bsd-1995", "modern"]})
    assert curves.build(run) is None and matrix.build(run) is None
    built = sweep.build(run)
    assert built is not None and [curve.series for curve in built.curves] == ["bsd-1995", "modern"]


def test_a_model_is_no_place_on_an_axis_but_a_line(tmp_path: Path) -> None:
    run = unasked(tmp_path, {"path.loss": ["0", "gilbert:1%,10"], "path.rate": RATES})
    built = curves.build(run)
    assert built is not None and built.x_name == "path.rate" and len(built.curves) == 2


def test_what_the_report_says_besides_an_axis_holds(tmp_path: Path) -> None:
    run = unasked(tmp_path, {"path.loss": ["0", "1%"], "path.rate": RATES}, {"y": "elapsed_ns", "series": "path.loss"})
    built = curves.build(run)
    assert built is not None and (built.x_name, built.y) == ("path.rate", "elapsed_ns")
    assert [curve.series for curve in built.curves] == ["0 %", "1 %"]


@pytest.mark.parametrize("swept", [{}, {"path.rate": ["45Mbit"]}])
def test_without_a_difference_there_is_no_figure(tmp_path: Path, swept: dict[str, list[Any]]) -> None:
    run = unasked(tmp_path, swept)
    assert (chosen_axes(run), curves.build(run), matrix.build(run), sweep.build(run)) == ((), None, None, None)


def test_any_sweep_gets_a_plot_on_the_page_and_in_the_report(tmp_path: Path) -> None:
    for number in range(15):
        seed = random.randrange(2**32)
        rng = random.Random(seed)
        plan = random_plan(rng)
        table = [row | {"valid": True} for row in rows(plan, rng)]
        run = load_run(synthetic_plan.write(tmp_path / str(number), plan, table))
        figures = [matrix.build(run), curves.build(run), sweep.build(run)]
        several = (
            len(
                {
                    tuple(str(value) for key, value in sorted(trial.setting.model_dump().items()))
                    for trial in plan.trials
                }
            )
            > 1
        )
        assert any(figures) or not several, f"seed {seed}: {list(plan.sweep)}"
        said = [text for text in texts_of_page(page(run)) if " by " in text]
        assert said or not several, f"seed {seed}: {list(plan.sweep)}"
        assert not several or any(text in render(run) for text in said), f"seed {seed}"
