"""The page of one trial: facts and, if the trial was captured, the Seq/Ack timeline. Each zoom fetches the visible span
again, so that every packet can be reached however many there are."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, ctx, dcc, html, no_update

from dashboard.content import facts
from dashboard.content.parts import Facts
from dashboard.content.tables import visit_table
from dashboard.data import timeline
from dashboard.data.runs import Json, Run, Trial
from dashboard.data.slow import MEASURE
from dashboard.data.timeline import Timeline
from dashboard.figures.congestion import congestion_figure
from dashboard.figures.timeline import headline, timeline_figure, timeline_sheet
from dashboard.pages.controls import select
from dashboard.pages.elements import facts_list, graph, scrolled, sentences, table, verdict_box
from dashboard.pages.run_page import run_name
from dashboard.results import congestion

RANGE_KEY = re.compile(r"^(?P<axis>[xy]axis\d*)\.range(?:\[(?P<end>[01])\])?$")
# The browser filters events: plotly also reports resizes, and a later event makes Dash drop the answer to an earlier
# one. It adds the sizes of the units in which the vertical axes are drawn.
ZOOMS_ONLY = """relayout => Object.keys(relayout || {}).some(key => key.startsWith("xaxis"))
    ? {...relayout, units: document.querySelector("#timeline .js-plotly-plot").layout.meta}
    : window.dash_clientside.no_update"""
BUTTONS = ("whole", "first", "previous", "next")
MOVES = {"in": "Zoom in", "out": "Zoom out", "earlier": "‹ Earlier", "later": "Later ›"}
WORDS_FOR_STOPS = ("Whole transfer", "First stop", "‹ Previous stop", "Next stop ›")
WORDS_FOR_SPANS = ("Whole transfer", "Slowest span", "‹ Slower span", "Next slowest span ›")


def page(run: Run, trial: Trial) -> html.Div:
    """The page of one trial."""
    return html.Div(
        [
            html.P(dcc.Link(f"‹ {run.title}", href=f"/run/{run.name}")),
            html.H1(facts.trial_name(run, trial)),
            verdict_box(trial.verdict, "This trial"),
            *(_timeline_part(run, trial) if trial.captured else [html.P(_why_no_timeline(trial))]),
            *_congestion_part(run, trial),
            html.H2("Facts"),
            facts_list(facts.trial_facts(run, trial) + _passage(run, trial)),
        ]
    )


def _congestion_part(run: Run, trial: Trial) -> list[Any]:
    """The congestion window, and the figures that the algorithm reports of itself, where the timeline does not show
    them: without a capture, or when there are such figures."""
    found = congestion.load(run, trial.number)
    if found is None or (trial.captured and not found.words):
        return []
    heading = "Congestion control over time" if found.words else "Congestion window over time"
    return [html.H2(heading), graph("congestion", congestion_figure([found]), heading)]


def _passage(run: Run, trial: Trial) -> Facts:
    return facts.passage_facts(timeline.load(run, trial)) if trial.captured else []


def _timeline_part(run: Run, trial: Trial) -> list[Any]:
    flows = trial.flows or [0]
    loaded = timeline.load(run, trial, flows[0])
    words = WORDS_FOR_STOPS if loaded.stops else WORDS_FOR_SPANS
    buttons = [
        html.Button(text, id=f"go-{name}", className="go", disabled=name != "whole" and not loaded.visits)
        for name, text in zip(BUTTONS, words, strict=True)
    ]
    offered = [{"label": facts.flow_name(trial, flow), "value": flow} for flow in flows]
    choice = select("flow", "Connection", offered, flows[0], hidden=len(flows) == 1)
    moves = [html.Button(text, id=f"move-{name}", className="go") for name, text in MOVES.items()]
    says = f"Seq/Ack timeline. {headline(loaded)}. {'The table under it has more.' if loaded.visits else ''}"
    hint = "Drag or “Zoom in”: every zoom brings finer data. Double-click: the whole transfer. Hover: the packet."
    return [
        html.Div([*buttons, *moves, choice], className="bar"),
        dcc.Store(id="stop-number", data=0),
        dcc.Store(id="zoom"),
        graph("timeline", timeline_figure(loaded), says, className="timeline"),
        *sentences([hint, *loaded.notes]),
        *_visits(loaded),
    ]


def _visits(loaded: Timeline) -> list[Any]:
    """What is known of the stops, or, where nothing stopped, of the slowest spans, the one that cost most time
    first."""
    if not loaded.visits:
        return []
    name = "Stops" if loaded.stops else "Slowest spans"
    return [html.H2(name), scrolled(name, table(visit_table(loaded))), *sentences([] if loaded.stops else [MEASURE])]


def _why_no_timeline(trial: Trial) -> str:
    error = trial.status.get("error")
    if error:
        return f"This trial failed: {error}"
    return "No timeline: packets of this trial were not captured (a [capture] table in the scenario makes it)."


def register(app: Dash, run_named: Callable[[str], Run]) -> None:
    """Registers the callback that redraws the timeline."""

    def redraw(relayout: Json | None, *rest: Any) -> tuple[Any, Any]:
        flow, pathname, stop_number = rest[len(BUTTONS) :]
        run = run_named(run_name(pathname))
        loaded = timeline.load(run, run.trial(trial_number(pathname)), int(flow))
        cause = str(ctx.triggered_id)
        if cause == "zoom":
            span = span_of_relayout(relayout or {}, loaded)
            return (no_update, no_update) if span is None else (zoomed(loaded, span, relayout or {}), no_update)
        if cause == "go-whole":
            return timeline_sheet(loaded, (0, loaded.duration_ns)).plain(), no_update
        number = chosen_stop(cause, int(stop_number or 0), len(loaded.visits))
        span = loaded.visit_view_ns(number) if loaded.visits else None
        return timeline_sheet(loaded, span).plain(), number

    app.callback(
        Output("timeline", "figure"),
        Output("stop-number", "data"),
        Input("zoom", "data"),
        *(Input(f"go-{name}", "n_clicks") for name in BUTTONS),
        Input("flow", "value"),
        State("url", "pathname"),
        State("stop-number", "data"),
        prevent_initial_call=True,
    )(redraw)
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ZOOMS_ONLY, Output("zoom", "data"), Input("timeline", "relayoutData"), prevent_initial_call=True
    )
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("access", "moved"), *(Input(f"move-{name}", "n_clicks") for name in MOVES),
        prevent_initial_call=True,
    )  # fmt: skip


def trial_number(pathname: str) -> int:
    """The trial's number in the address of a trial page."""
    return int(pathname.rstrip("/").split("/")[-1])


def chosen_stop(cause: str, current: int, count: int) -> int:
    """The number of the stop or span that a button leads to, within 0 … `count` - 1."""
    step = {"go-previous": current - 1, "go-next": current + 1}.get(cause, 0)
    return max(0, min(step, count - 1))


def ranges(relayout: Json) -> dict[str, list[float]]:
    """The axis ranges that the reader chose, from plotly's relayout event: `{"xaxis4": [0.1, 0.2], …}`."""
    found: dict[str, list[float]] = {}
    for key, value in relayout.items():
        match = RANGE_KEY.match(key)
        if match is None:
            continue
        if match["end"] is None:
            found[match["axis"]] = [float(value[0]), float(value[1])]
        else:
            found.setdefault(match["axis"], [0.0, 0.0])[int(match["end"])] = float(value)
    return found


def span_of_relayout(relayout: Json, loaded: Timeline) -> tuple[int, int] | None:
    """The visible span in ns after a zoom; None when the time axis did not change."""
    for axis, (low, high) in ranges(relayout).items():
        if axis.startswith("x") and high > low:
            return int(low * 1e9), int(high * 1e9)
    if any(key.startswith("xaxis") and key.endswith(".autorange") for key in relayout):
        return 0, max(loaded.duration_ns, 1)
    return None


def zoomed(loaded: Timeline, span: tuple[int, int], relayout: Json) -> Json:
    """The figure of a span. It keeps the vertical range of a box zoom, which is in the units of the figure before."""
    sheet = timeline_sheet(loaded, span)
    before, now = relayout.get("units") or {}, sheet.layout["meta"]
    for axis, limits in ranges(relayout).items():
        if axis.startswith("y") and axis in sheet.layout:
            step = float(before[axis]) / now[axis] if axis in before and axis in now else 1.0
            sheet.layout[axis]["range"] = [limit * step for limit in limits]
    return sheet.plain()
