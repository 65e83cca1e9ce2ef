"""The page of one run: verdict, figure of its sweep with the paper's values, table of trials. A click on a point of the
figure opens the point's trial. The address says what the figure shows (core/choice.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import plotly.graph_objects as go
from dash import Dash, Input, Output, State, dcc, html, no_update

from dashboard.core import congestion, run_files
from dashboard.core.asked import asked
from dashboard.core.choice import NO_CHOICE, Choice, applied, of_search
from dashboard.core.congestion_figure import congestion_figure
from dashboard.core.controls import Radios
from dashboard.core.elements import (
    facts_list,
    graph,
    rich_table,
    scrolled,
    sentences,
    table,
    verdict_box,
    verdict_mark,
)
from dashboard.core.grouping import listed
from dashboard.core.runs import Json, Run, Verdict
from dashboard.run import choice_bar, curves, latency, matrix, sweep, tables
from dashboard.run import under_way_part as run_under_way
from dashboard.run.curves_figure import curves_figure
from dashboard.run.expected import expected_notes, expected_table
from dashboard.run.facts import run_facts
from dashboard.run.latency_figure import latency_figure
from dashboard.run.matrix_figure import matrix_figure
from dashboard.run.sweep_figure import sweep_figure
from scenarios.plan.shared_settings import shared_settings

NUMBERS = "The table of trials has its numbers."


def page(own: Run, choice: Choice = NO_CHOICE) -> html.Div:
    """The page of one run, its figure first. `choice`: what the reader wants the figure to show."""
    run = applied(own, choice)
    grids, lines = matrix.build(run), curves.build(run)
    built = None if grids or lines else sweep.build(run)
    return html.Div(
        [
            html.H1(run.title),
            html.P(run.description, className="lead") if run.description else None,
            verdict_box(run.verdict, "This run"),
            *run_under_way.part(own),
            *_certificate(own),
            *sentences([*asked(run).notes, *expected_notes(run)]),
            *choice_bar.bar(own, choice),
            *(_sweep_part(sweep.without(built, choice.hide)) if built else []),
            *(_matrix_part(matrix.without(grids, choice.hide)) if grids else []),
            *(_curves_part(curves.without(lines, choice.hide)) if lines else []),
            *_latency_part(run),
            *_expected_part(run),
            *_congestion_part(run),
            *_settings_part(run),
            html.H2("Trials"),
            _trials(run),
            html.H2("What was run"),
            facts_list(run_facts(run)),
            html.Div([html.Span("This run as a file:"), *run_files.links([run.name])], className="bar"),
        ]
    )


def _certificate(run: Run) -> list[Any]:
    """A link to the run's certificate, if it has one."""
    if not run.has_route or run.state == "running":
        return []
    link = dcc.Link("Land Speed Record: certificate and record plot", href=f"/run/{run.name}/certificate")
    return [html.P(link)]


def _expected_part(run: Run) -> list[Any]:
    found = expected_table(run)
    return [html.H2("Expectations"), scrolled("Expectations", table(found))] if found.rows else []


def _settings_part(run: Run) -> list[Any]:
    found = shared_settings(run.rows, run.sweep)
    return [html.H2("Settings of all trials"), facts_list(found)] if found else []


def _sweep_part(built: sweep.Sweep) -> list[Any]:
    regions = tables.region_table(built)
    axis = Radios(
        id="sweep-axis",
        legend="Window axis",
        value="log",
        options=[{"label": "logarithmic", "value": "log"}, {"label": "linear", "value": "linear"}],
    )
    parts: list[Any] = [
        html.H2("Throughput by transfer.window"),
        axis,
        graph("sweep", sweep_figure(built), f"Throughput by transfer.window. {NUMBERS}"),
        *sentences(["Click a point to open its trial.", *tables.sweep_notes(built)]),
    ]
    if (intervals := tables.interval_table(built)).rows:
        parts += [html.H2("Means with 95 % intervals"), scrolled("Means with 95 % intervals", table(intervals))]
        parts += sentences(tables.interval_notes(built))
    if regions.rows:
        parts += [html.H2(f"Comparison with the paper ({built.paper})" if built.paper else "By region"), table(regions)]
    return parts


def _matrix_part(grids: matrix.Matrix) -> list[Any]:
    heading = f"{grids.value_name} by {grids.x.name.lower()} and {grids.y.name.lower()}"
    return [
        html.H2(heading),
        graph("matrix", matrix_figure(grids), f"{heading}. {NUMBERS}"),
        *sentences(["Each cell: the median over the valid trials.", *tables.matrix_notes(grids)]),
    ]


def _curves_part(lines: curves.Curves) -> list[Any]:
    heading = f"{lines.y_name} by {lines.x_name.lower()}"
    return [
        html.H2(heading),
        graph("curves", curves_figure(lines), f"{heading}. The table under it has its numbers."),
        *sentences(["Click a point to open its trial.", *tables.curves_notes(lines)]),
        table(tables.curve_table(lines)),
    ]


def _latency_part(run: Run) -> list[Any]:
    """The distributions of the exchanges' latencies, where a run has them one by one."""
    found = latency.build(run)
    if not found:
        return []
    heading = "Latency of the exchanges"
    return [
        html.H2(heading),
        graph("latency", latency_figure(found), f"{heading}. The table under it has its numbers."),
        *sentences([latency.SAYS]),
        table(latency.latency_table(found)),
    ]


def _congestion_part(run: Run) -> list[Any]:
    parts: list[Any] = []
    if pairs := congestion.pairs(run):
        parts += [html.H2("Comparison with the kernel's own"), table(tables.pair_table(pairs))]
    if chosen := congestion.chosen(run):
        figure = graph("congestion", congestion_figure(chosen.controls), f"Congestion window over time. {chosen.note}")
        parts += [html.H2("Congestion window over time"), figure, *sentences([chosen.note])]
    return parts


def _trials(run: Run) -> html.Div:
    settings = tables.setting_head(run)
    head = ("Trial", *settings, *tables.OUTCOME_HEAD, "Timeline", "State", "Verdict")
    rows = [
        _trial_cells(run, row, texts) for row, texts in zip(listed(run.rows), tables.setting_texts(run), strict=True)
    ]
    numeric = frozenset(range(1, 1 + len(settings) + len(tables.OUTCOME_HEAD)))
    return scrolled("Trials", rich_table(head, rows, numeric))


def _trial_cells(run: Run, row: Json, settings: tuple[str, ...]) -> list[Any]:
    number = int(row.get("trial") or 0)
    reasons = str(row.get("reasons") or "")
    valid = row.get("valid")
    return [
        dcc.Link(str(number), href=f"/run/{run.name}/trial/{number}"),
        *settings,
        *tables.outcome(row),
        dcc.Link("Seq/Ack", href=f"/run/{run.name}/trial/{number}") if number in run.captured else "–",
        str(row.get("state") or "–"),
        verdict_mark(Verdict(valid if isinstance(valid, bool) else None, (reasons,) if reasons else ())),
    ]


def register(app: Dash, run_named: Callable[[str], Run]) -> None:
    """Registers the callbacks: the kind of axis, and opening a trial from a point."""

    def run_at(pathname: str) -> Run:
        return run_named(run_name(pathname))

    def axis(value: str, pathname: str, search: str | None) -> go.Figure:
        choice = of_search(search or "")
        built = sweep.build(applied(run_at(pathname), choice))
        return sweep_figure(sweep.without(built, choice.hide), log_x=value == "log") if built else go.Figure()

    def opened(click: Json | None, pathname: str) -> Any:
        trial = clicked_trial(click)
        return (no_update, no_update) if trial is None else (f"/run/{run_name(pathname)}/trial/{trial}", "")

    app.callback(
        Output("sweep", "figure"),
        Input("sweep-axis", "value"),
        State("url", "pathname"),
        State("url", "search"),
        prevent_initial_call=True,
    )(axis)
    for figure in ("sweep", "matrix", "curves"):
        app.callback(
            Output("url", "pathname", allow_duplicate=True),
            Output("url", "search", allow_duplicate=True),
            Input(figure, "clickData"),
            State("url", "pathname"),
            prevent_initial_call=True,
        )(opened)
    choice_bar.register(app, run_at)


def run_name(pathname: str) -> str:
    """The run's name in the address of a run page or trial page."""
    return unquote(pathname.split("/")[2])


def clicked_trial(click: Json | None) -> int | None:
    """The trial of a clicked point; None when the point belongs to no trial (the paper's, or a limit's)."""
    for point in (click or {}).get("points", ()):
        facts = point.get("customdata")
        if isinstance(facts, list) and facts and isinstance(facts[0], int):
            return facts[0]
    return None
