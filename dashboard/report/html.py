"""The static report: one HTML file that holds everything, plotly.js included, and loads nothing from the network.

All numbers are in HTML tables, readable without JavaScript, and figures come on top. Timelines are thinned to a fixed
number of points, so the file's size does not grow with the capture's. Jinja's autoescaping escapes text.
"""

from __future__ import annotations

from html import escape
from itertools import islice
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from plotly.io import to_html

from dashboard.core import congestion, plotly_js
from dashboard.core.asked import asked
from dashboard.core.congestion_figure import congestion_figure
from dashboard.core.parts import VERDICT_CLASS
from dashboard.core.runs import Run, load_run
from dashboard.core.theme import GRAPH_CONFIG
from dashboard.report import first_stop
from dashboard.report.environment import environment_facts, scenario_text
from dashboard.run import curves, latency, matrix, reference, sweep, tables
from dashboard.run.curves_figure import curves_figure
from dashboard.run.expected import expected_notes, expected_table
from dashboard.run.facts import run_facts
from dashboard.run.latency_figure import latency_figure
from dashboard.run.matrix_figure import matrix_figure
from dashboard.run.sweep_figure import sweep_figure
from dashboard.timeline import timeline
from dashboard.timeline.figure import STILL_HEIGHT, STILL_POINTS, headline, timeline_figure
from dashboard.timeline.slow import MEASURE
from dashboard.timeline.timeline import Timeline
from dashboard.trial import flows, load
from dashboard.trial.facts import passage_facts, trial_facts, trial_name
from dashboard.trial.flows_figure import flows_figure
from dashboard.trial.load_figure import load_figure
from dashboard.trial.tables import visit_table
from netcommon.errors import LfpError
from netcommon.strangers import refuse_foreign, write_text
from scenarios.plan.shared_settings import shared_settings

HERE = Path(__file__).parent
MOST_TIMELINES = 3
MOST_LOADS = 6  # trials whose flows, latencies and queues are drawn over time
BELOW = "The table below has its numbers."
SWEEP = f"Throughput by transfer.window. {BELOW}"
CONGESTION = "Congestion window over time"


def write_report(run_dir: Path, output: Path | None = None) -> Path:
    """Writes `output`, or else `run_dir`/report.html, and returns its path. Raises LfpError when `run_dir` is not a
    run, and without `output` when another user owns the run.

    The file is written under a temporary name and renamed, so that a reader sees the old report or the new one.
    """
    target = output or run_dir / "report.html"
    if output is None:
        refuse_foreign(run_dir)
    text = render(load_run(run_dir))
    try:
        write_text(target, text)
    except OSError as error:
        raise LfpError(f"{target}: {error.strerror}; name a file that can be written with --output", 1) from error
    return target


def render(run: Run) -> str:
    """The report's HTML."""
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)
    captured = [number for number in run.trial_numbers() if number in run.captured]
    timelines = [_timeline_part(run, number) for number in captured[:MOST_TIMELINES]]
    left = len(captured) - len(timelines)
    return environment.get_template("report.html.j2").render(
        run=run,
        style=(HERE.parent / "assets" / "style.css").read_text(),
        plotly_js=plotly_js.script(),
        verdict_class=VERDICT_CLASS[run.verdict.valid],
        run_facts=run_facts(run),
        notes=[*asked(run).notes, *expected_notes(run)],
        expected_table=expected_table(run),
        settings=shared_settings(run.rows, run.sweep),
        timelines=timelines,
        loads=list(islice(filter(None, (_load_part(run, number) for number in run.trial_numbers())), MOST_LOADS)),
        uncounted=f"{left} more captured trials: `lfp dashboard {run.name}` shows their timelines." if left else "",
        trial_table=tables.trial_table(run),
        scenario_text=scenario_text(run),
        environment=environment_facts(run),
        **_results_part(run),
        **_latency_part(run),
        **_congestion_part(run),
    )


def _results_part(run: Run) -> dict[str, Any]:
    """The figure of all trials, of whichever kind the run has, with its tables and notes."""
    grids, lines = matrix.build(run), curves.build(run)
    built = None if grids or lines else sweep.build(run)
    return {
        "sweep": built,
        "sweep_html": _html(sweep_figure(built, switch=True), "sweep", SWEEP) if built else "",
        "sweep_notes": tables.sweep_notes(built) if built else (),
        "region_table": tables.region_table(built) if built else None,
        "level_table": tables.level_table(built) if built else None,
        "interval_table": tables.interval_table(built) if built else None,
        "interval_notes": tables.interval_notes(built) if built else (),
        "matrix": grids,
        "matrix_html": _html(matrix_figure(grids), "matrix", f"{grids.value_name}. {BELOW}") if grids else "",
        "matrix_table": tables.matrix_table(grids) if grids else None,
        "matrix_notes": tables.matrix_notes(grids) if grids else (),
        "curves": lines,
        "curves_html": _html(curves_figure(lines), "curves", f"{lines.y_name}. {BELOW}") if lines else "",
        "curve_table": tables.curve_table(lines) if lines else None,
        "curves_notes": tables.curves_notes(lines) if lines else (),
    }


def _latency_part(run: Run) -> dict[str, Any]:
    found = latency.build(run)
    return {
        "latency_html": _html(latency_figure(found), "latency", f"Latency of the exchanges. {BELOW}") if found else "",
        "latency_table": latency.latency_table(found),
        "latency_says": latency.SAYS,
    }


def _load_part(run: Run, number: int) -> dict[str, Any] | None:
    """A trial's flows, latencies and queues over time; None for a trial without any of these."""
    trial = run.trial(number)
    shared, found = flows.load(run, trial), load.load(trial)
    if shared is None and found is None:
        return None
    name = trial_name(run, trial)
    return {
        "name": name,
        "flows": _html(flows_figure(shared), f"flows-{number}", f"Rates of the flows. {name}.") if shared else "",
        "load": _html(load_figure(found), f"load-{number}", f"Latency and queues over time. {name}.") if found else "",
        "notes": [*([flows.MEASURE] if shared else []), *([load.MEASURE] if found else [])],
    }


def _congestion_part(run: Run) -> dict[str, Any]:
    chosen = congestion.chosen(run)
    return {
        "congestion_html": _html(congestion_figure(chosen.controls), "congestion", CONGESTION) if chosen else "",
        "congestion_note": chosen.note if chosen else "",
        "pair_table": tables.pair_table(congestion.pairs(run)),
    }


def _timeline_part(run: Run, number: int) -> dict[str, Any]:
    trial = run.trial(number)
    loaded = timeline.load(run, trial)
    paper, measured = reference.facts(run), first_stop.measured(loaded)
    return {
        "name": trial_name(run, trial),
        "headline": headline(loaded),
        "first": _timeline_html(loaded, loaded.first_view_ns(), f"timeline-{number}"),
        "below": _below(loaded),
        "notes": loaded.notes,
        "whole": _timeline_html(loaded, (0, loaded.duration_ns), f"whole-{number}") if loaded.visits else "",
        "comparison": first_stop.fact_table(paper, measured) if paper and measured else None,
        "visits": visit_table(loaded),
        "visits_name": "Stops" if loaded.stops else "Slowest spans",
        "visits_note": "" if loaded.stops else MEASURE,
        "facts": trial_facts(run, trial) + passage_facts(loaded),
    }


def _below(loaded: Timeline) -> str:
    """Words for what the figures below the headline show."""
    if not loaded.visits:
        return "the whole transfer"
    return f"the {'first stop' if loaded.stops else 'slowest span'} in its context, then the whole transfer"


def _timeline_html(loaded: Timeline, span_ns: tuple[int, int], name: str) -> str:
    figure = timeline_figure(loaded, span_ns, points=STILL_POINTS, height=STILL_HEIGHT)
    return _html(figure, name, f"Seq/Ack timeline. {headline(loaded)}.")


def _html(figure: go.Figure, name: str, says: str) -> str:
    """A figure as a `figure` with its script, without plotly.js. `says`: what it shows, for those who do not see it."""
    div: str = to_html(
        figure, full_html=False, include_plotlyjs=False, div_id=escape(name, quote=True), config=GRAPH_CONFIG
    )
    return f'<figure aria-label="{escape(says, quote=True)}">{div}</figure>'
