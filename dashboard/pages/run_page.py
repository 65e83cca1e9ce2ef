"""One run: verdict, window sweep with the paper beside it, table of trials. A point of the sweep opens its trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import plotly.graph_objects as go
from dash import Dash, Input, Output, State, dcc, html, no_update

from dashboard import content, sweep, units
from dashboard.data import Json, Run, Verdict
from dashboard.figures.sweep import sweep_figure
from dashboard.pages.elements import facts_list, graph_config, rich_table, table, verdict_box, verdict_mark


def page(run: Run) -> html.Div:
    """The page of one run."""
    built = sweep.build(run)
    description = str(run.heading.get("description") or "")
    return html.Div(
        [
            html.H1(run.title),
            html.P(description, className="lead") if description else None,
            verdict_box(run.verdict, "This run"),
            *(_sweep_part(built) if built else []),
            html.H2("Trials"),
            _trials(run),
            html.H2("What was run"),
            facts_list(content.run_facts(run)),
        ]
    )


def _sweep_part(built: sweep.Sweep) -> list[Any]:
    regions = content.region_table(built)
    axis = dcc.RadioItems(
        id="sweep-axis", value="log", inline=True, className="choice",
        options=[{"label": "logarithmic window axis", "value": "log"}, {"label": "linear", "value": "linear"}],
    )  # fmt: skip
    parts: list[Any] = [
        html.H2("Throughput against window"),
        axis,
        dcc.Graph(id="sweep", figure=sweep_figure(built), config=graph_config()),
        html.P("Click a point to open its trial." + content.failed_note(built), className="small"),
    ]
    if regions.rows:
        parts += [html.H2(f"Beside the paper ({built.paper})"), table(regions)]
    return parts


def _trials(run: Run) -> html.Div:
    head = ("Trial", "Profile", "Window", "Throughput", "Stopped (s)", "Resent", "Timeline", "State", "Verdict")
    rows = [_trial_cells(run, row) for row in sorted(run.rows, key=lambda row: row.get("trial") or 0)]
    return html.Div(rich_table(head, rows, frozenset({2, 3, 4, 5})), className="scroll")


def _trial_cells(run: Run, row: Json) -> list[Any]:
    number = int(row.get("trial") or 0)
    share, resent = row.get("stopped_share"), row.get("retransmits")
    reasons = str(row.get("reasons") or "")
    valid = row.get("valid")
    return [
        dcc.Link(str(number), href=f"/run/{run.name}/trial/{number}"),
        str(row.get("profile") or "–"),
        units.size(row.get("window_bytes")),
        units.rate(row.get("short_term_bps")),
        units.share(share),
        "–" if resent is None else units.count(resent),
        dcc.Link("Seq/Ack", href=f"/run/{run.name}/trial/{number}") if number in run.captured else "–",
        str(row.get("state") or "–"),
        verdict_mark(Verdict(valid if isinstance(valid, bool) else None, (reasons,) if reasons else ())),
    ]


def register(app: Dash, run_named: Callable[[str], Run]) -> None:
    """Callbacks: kind of axis, and opening a trial from a point."""

    def axis(value: str, pathname: str) -> go.Figure:
        built = sweep.build(run_named(run_name(pathname)))
        return sweep_figure(built, log_x=value == "log") if built else go.Figure()

    def opened(click: Json | None, pathname: str) -> Any:
        trial = clicked_trial(click)
        return no_update if trial is None else f"/run/{run_name(pathname)}/trial/{trial}"

    app.callback(
        Output("sweep", "figure"), Input("sweep-axis", "value"), State("url", "pathname"), prevent_initial_call=True
    )(axis)
    app.callback(
        Output("url", "pathname"), Input("sweep", "clickData"), State("url", "pathname"), prevent_initial_call=True
    )(opened)


def run_name(pathname: str) -> str:
    """The run's name in an address of a run or trial page."""
    return unquote(pathname.split("/")[2])


def clicked_trial(click: Json | None) -> int | None:
    """The trial of a clicked point; None when the point is no trial (a median, the paper, a guide line)."""
    for point in (click or {}).get("points", ()):
        facts = point.get("customdata")
        if isinstance(facts, list) and facts and isinstance(facts[0], int):
            return facts[0]
    return None
