"""Heat maps over two swept parameters: medians of valid trials, the paper's value in its own cell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import synthetic_run

from dashboard.core.grouping import varied
from dashboard.core.runs import Run, load_run
from dashboard.report.html import render
from dashboard.run import curves, matrix, tables
from dashboard.run.matrix_figure import MOST_TEXTS, matrix_figure


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return load_run(synthetic_run.matrix(tmp_path_factory.mktemp("runs")))


def grids(run: Run) -> matrix.Matrix:
    built = matrix.build(run)
    assert built is not None
    return built


def test_axes_are_the_swept_values_as_people_read_them(run: Run) -> None:
    built = grids(run)
    assert built.x.texts == ["no delay", "20 ms", "200 ms"]
    assert built.y.texts == ["0 %", "0.01 %", "0.1 %", "1 %"]
    assert [panel.series for panel in built.panels] == ["linux-2003", "modern", "bbr"]  # as the scenario lists them


def test_the_papers_values_stand_in_their_own_panel_and_cell(run: Run) -> None:
    old, new, _ = grids(run).panels
    assert old.paper == {(0, 1): 40e6, (0, 2): 4e6}
    assert old.cells[0, 1].median == pytest.approx(96 * 1024 * 8 / 0.02)
    assert not new.paper


def test_an_invalid_trial_leaves_its_cell_empty_and_is_counted(run: Run) -> None:
    built = grids(run)
    assert built.left_out == 1
    assert (1, 2) not in built.panels[0].cells  # MATRIX_INVALID: second loss, third round-trip time
    assert tables.matrix_notes(built) == ["1 trial failed, not valid or without a value: counted in no cell."]


def test_every_cell_is_drawn_with_its_number(run: Run) -> None:
    figure = matrix_figure(grids(run))
    assert len(figure.data) == 3
    notes = [note.text for note in figure.layout.annotations]
    assert sum("paper 40" in note for note in notes) == 1
    assert sum(len(panel.cells) for panel in grids(run).panels) == len(notes) - 3  # and a title a panel


def test_a_tenth_less_is_nearly_the_same_colour_and_the_colours_have_numbers(run: Run) -> None:
    built = grids(run)
    panel = built.panels[1]
    near = {
        place: replace(cell, median=169e6 + 22e6 * (number % 2))
        for number, (place, cell) in enumerate(panel.cells.items())
    }
    for shown in (built, replace(built, panels=(replace(panel, cells=near),))):
        colours = matrix_figure(shown).layout.coloraxis
        assert len(colours.colorbar.ticktext) >= 3
        assert all(colours.cmin <= tick <= colours.cmax for tick in colours.colorbar.tickvals)
    assert colours.colorbar.ticktext == ("20", "50", "100") and colours.colorbar.title.text.endswith("(Mbit/s)")
    apart = np.log10(191 / 169) / (colours.cmax - colours.cmin)
    assert apart < 0.06


def test_cells_too_small_for_a_text_have_none(run: Run) -> None:
    built = grids(run)
    figure = matrix_figure(replace(built, x=replace(built.x, values=tuple(range(MOST_TEXTS + 1)))))
    assert [note.text for note in figure.layout.annotations] == [f"<b>{panel.series}</b>" for panel in built.panels]
    assert figure.data[0].text[0][1], "the hover text has it"


def test_a_matrix_of_one_row_is_curves(run: Run) -> None:
    """The run has one value of loss, as with `--set path.loss=0`."""
    of_one_loss = replace(run, rows=tuple(row for row in run.rows if row["loss_ppb"] == 0))
    assert matrix.build(of_one_loss) is None
    lines = curves.build(of_one_loss)
    assert lines is not None and (lines.x, lines.y) == ("rtt_ns", "short_term_bps")
    under_way = replace(of_one_loss, manifest=run.manifest | {"state": "running"})
    assert matrix.build(under_way) is not None, "rows are still to come"


def test_report_and_trials_name_what_was_swept(run: Run, tmp_path: Path) -> None:
    assert varied(run) == ["profile", "loss_ppb", "delay_ns"]
    html = render(run)
    assert "Short-term throughput by round-trip time and path.loss" in html
    assert ">path.delay</th>" in html and ">path.loss</th>" in html


def test_other_reports_have_no_matrix(tmp_path: Path) -> None:
    assert matrix.build(load_run(synthetic_run.sweep(tmp_path, repeats=1))) is None
