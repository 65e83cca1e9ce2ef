"""The static report: one HTML file that holds everything, plotly.js included, and never asks the network for anything.

All numbers are HTML tables, readable without JavaScript; figures come on top. Timelines are thinned to a fixed number
of points, so the file's size does not follow the capture's. Text is escaped by Jinja's autoescaping.
"""

from __future__ import annotations

import os
import tempfile
from html import escape
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from plotly.io import to_html
from plotly.offline import get_plotlyjs

from dashboard import content, control, curves, fig4, matrix, reference, sweep, timeline
from dashboard.data import Run, load_run
from dashboard.figures.control import control_figure
from dashboard.figures.curves import curves_figure
from dashboard.figures.matrix import matrix_figure
from dashboard.figures.sweep import sweep_figure
from dashboard.figures.theme import GRAPH_CONFIG
from dashboard.figures.timeline import headline, timeline_figure
from dashboard.timeline import Timeline

HERE = Path(__file__).parent
TIMELINE_POINTS = 1500
MOST_TIMELINES = 3
VERDICT_CLASS = {True: "good", False: "bad", None: "open"}


def write_report(run_dir: Path) -> Path:
    """Write `run_dir`/report.html and give its path. Raises LfpError when `run_dir` is no run.

    Written under a temporary name and renamed, so that a reader sees the old report or the new one, never half of one.
    """
    text = render(load_run(run_dir))
    target = run_dir / "report.html"
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=run_dir, prefix=".report-", delete=False) as file:
        try:
            file.write(text)
            file.flush()
            Path(file.name).chmod(0o644)
            os.replace(file.name, target)  # noqa: PTH105 - a rename within one directory
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
    return target


def render(run: Run) -> str:
    """The report's HTML."""
    environment = Environment(loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined)
    grids, lines = matrix.build(run), curves.build(run)
    built = None if grids or lines else sweep.build(run)
    controls = control.chosen(run)
    captured = [number for number in run.trial_numbers() if number in run.captured]
    timelines = [_timeline_part(run, number) for number in captured[:MOST_TIMELINES]]
    left = len(captured) - len(timelines)
    return environment.get_template("report.html.j2").render(
        run=run,
        style=(HERE / "assets" / "style.css").read_text(),
        plotly_js=get_plotlyjs(),
        verdict_class=VERDICT_CLASS[run.verdict.valid],
        run_facts=content.run_facts(run),
        sweep=built,
        sweep_html=_html(sweep_figure(built, switch=True), "sweep") if built else "",
        failed_note=content.failed_note(built) if built else "",
        region_table=content.region_table(built) if built else None,
        level_table=content.level_table(built) if built else None,
        interval_table=content.interval_table(built) if built else None,
        control_html=_html(control_figure(controls), "control") if controls else "",
        pair_table=content.pair_table(control.pairs(run)),
        matrix=grids,
        matrix_html=_html(matrix_figure(grids), "matrix") if grids else "",
        matrix_table=content.matrix_table(grids) if grids else None,
        curves=lines,
        curves_html=_html(curves_figure(lines), "curves") if lines else "",
        curve_table=content.curve_table(lines) if lines else None,
        curves_note=content.failed_note(lines) if lines else "",
        left_out_note=content.left_out_note(grids) if grids else "",
        timelines=timelines,
        uncounted=f"{left} more captured trials: `lfp dashboard {run.name}` shows their timelines." if left else "",
        trial_table=content.trial_table(run),
        scenario_text=content.scenario_text(run),
        environment=content.environment_facts(run),
    )


def _timeline_part(run: Run, number: int) -> dict[str, Any]:
    trial = run.trial(number)
    loaded = timeline.load(run, trial)
    paper, measured = reference.facts(run), fig4.first_stop(loaded)
    return {
        "name": content.trial_name(run, trial),
        "headline": headline(loaded),
        "first": _timeline_html(loaded, loaded.first_view_ns(), f"timeline-{number}"),
        "whole": _timeline_html(loaded, (0, loaded.duration_ns), f"whole-{number}") if loaded.stops else "",
        "comparison": content.fact_table(paper, measured) if paper and measured else None,
        "stops": content.stop_table(loaded),
        "facts": content.trial_facts(run, trial) + content.passage_facts(loaded),
    }


def _timeline_html(loaded: Timeline, span_ns: tuple[int, int], name: str) -> str:
    return _html(timeline_figure(loaded, span_ns, points=TIMELINE_POINTS, height=980), name)


def _html(figure: go.Figure, name: str) -> str:
    """A figure as a `div` and its script, plotly.js not included."""
    div: str = to_html(
        figure, full_html=False, include_plotlyjs=False, div_id=escape(name, quote=True), config=GRAPH_CONFIG
    )
    return div
