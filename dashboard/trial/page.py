"""The page of one trial: facts and, if the trial was captured, the Seq/Ack timeline. Each zoom fetches the visible span
again (timeline/views.py), so that every packet can be reached however many there are. The address of the page has the
view that a reader chose."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from dash import ClientsideFunction, Dash, Input, Output, dcc, html

from dashboard.core import congestion
from dashboard.core.congestion_figure import congestion_figure
from dashboard.core.controls import select
from dashboard.core.elements import (
    facts_list,
    graph,
    graph_config,
    rich_table,
    scrolled,
    sentences,
    table,
    verdict_box,
)
from dashboard.core.parts import Facts
from dashboard.core.runs import REVERSE, Json, Run, Trial
from dashboard.timeline import timeline
from dashboard.timeline.event_rows import HEAD
from dashboard.timeline.figure import headline
from dashboard.timeline.limits_band import COLOURS
from dashboard.timeline.slow import MEASURE
from dashboard.timeline.timeline import Timeline
from dashboard.timeline.views import query_of
from dashboard.trial import facts, flows, load
from dashboard.trial.flows_figure import flows_figure
from dashboard.trial.load_figure import load_figure
from dashboard.trial.tables import limit_table, limits_of_responses, outage_table, verdicts, visit_table
from netcommon import readable

BUTTONS = ("whole", "first", "previous", "next")
EVENTS = {"event-previous": "‹ Previous event", "event-next": "Next event ›"}
PAGES = {"events-earlier": "‹ Earlier in the list", "events-later": "Later in the list ›"}
PICTURES = {"picture-svg": "SVG", "picture-png": "PNG"}
MOVES = {"in": "Zoom in", "out": "Zoom out", "earlier": "‹ Earlier", "later": "Later ›"}
WORDS_FOR_STOPS = ("Whole transfer", "First stop", "‹ Previous stop", "Next stop ›")
WORDS_FOR_SPANS = ("Whole transfer", "Slowest span", "‹ Slower span", "Next slowest span ›")


BINS_MS = (1, 10, 100, 1000)


def page(run: Run, trial: Trial, search: str = "", *, back: bool = False) -> html.Div:
    """The page of one trial. `search`: the view that an address asks for (`?flow=…&from=…&to=…`). `back`: with the
    timeline of what its receivers sent."""
    shown = trial.turned() if back else trial
    return html.Div(
        [
            html.P(dcc.Link(f"‹ {run.title}", href=f"/run/{run.name}")),
            html.H1(facts.trial_name(run, trial)),
            verdict_box(trial.verdict, "This trial"),
            *_failure(trial),
            *_directions(run, shown),
            *(_timeline_part(run, shown, search) if shown.captured else [html.P(_why_no_timeline(trial))]),
            *_flows_part(run, trial),
            *_load_part(trial),
            *_outages(trial),
            *_congestion_part(run, trial),
            html.H2("Facts"),
            facts_list(facts.trial_facts(run, trial) + _passage(run, shown)),
        ]
    )


def _failure(trial: Trial) -> list[Any]:
    """Why a trial failed, if it has a timeline nevertheless."""
    error = trial.status.get("error")
    return (
        [html.P(f"This trial failed: {error}. What follows is what was measured until then.")]
        if (error and trial.captured)
        else []
    )


def direction_names(trial: Trial) -> tuple[str, str]:
    """The names of the two directions: to the receivers, and from them."""
    if trial.params.get("request_bytes"):
        return "requests, sender to receiver", "responses, receiver to sender"
    return "sender to receiver", "receiver to sender"


def _directions(run: Run, trial: Trial) -> list[Any]:
    """Links to the timelines of both directions, where there are two; the one that is shown is not a link."""
    if not trial.has_both_ways:
        return []
    forth, back = direction_names(trial)
    address = f"/run/{run.name}/trial/{trial.number}"
    shown = back if trial.back else forth
    here: dict[str, Any] = {"aria-current": "page"}
    named: dict[str, Any] = {"aria-label": "Direction"}
    links = [
        html.Strong(name, **here) if name == shown else dcc.Link(name, href=href)
        for name, href in ((forth, address), (back, f"{address}/{REVERSE}"))
    ]
    return [html.Nav([html.Span("Direction:"), *links], className="bar", **named)]


def _outages(trial: Trial) -> list[Any]:
    found = outage_table(trial)
    if found is None:
        return []
    says = (
        "From the end of an outage to the first moment from which on the receiver had 90 % of the rate before "
        "the first outage, over a round trip and over a second. Times count from the receiver's first octet."
    )
    return [html.H2("Recovery from outages"), table(found), *sentences([says])]


def _flows_part(run: Run, trial: Trial) -> list[Any]:
    """How the flows shared the line, where there are several."""
    found = flows.load(run, trial)
    if found is None:
        return []
    heading = "How the flows share the line"
    return [
        html.H2(heading),
        graph("flows", flows_figure(found), heading),
        *sentences([flows.MEASURE, *flows.sums(facts.trial_row(run, trial.number))]),
    ]


def _load_part(trial: Trial) -> list[Any]:
    """Latency and queues over time, where they were measured."""
    found = load.load(trial)
    if found is None:
        return []
    heading = "Latency and queues over time"
    return [html.H2(heading), graph("load", load_figure(found), heading), *sentences([load.MEASURE])]


def _congestion_part(run: Run, trial: Trial) -> list[Any]:
    """The congestion windows, and the figures that an algorithm reports of itself, where the timeline does not show
    them: without a capture, with several flows, or when there are such figures."""
    found = congestion.of_flows(run, trial.number)
    words = any(one.words for one in found)
    if not found or (trial.captured and len(found) == 1 and not words):
        return []
    heading = "Congestion control over time" if words else "Congestion window over time"
    return [html.H2(heading), graph("congestion", congestion_figure(found), heading)]


def _passage(run: Run, trial: Trial) -> Facts:
    return facts.passage_facts(timeline.load(run, trial)) if trial.captured else []


def _timeline_part(run: Run, trial: Trial, search: str) -> list[Any]:
    flows, asked = trial.flows or [0], parse_qs(search.lstrip("?"))
    flow = next((flow for flow in flows if [str(flow)] == asked.get("flow")), flows[0])
    bin_s = next((ms / 1000 for ms in BINS_MS if [str(ms / 1000)] == asked.get("bin")), 0)
    loaded = timeline.load(run, trial, flows[0])
    words = WORDS_FOR_STOPS if loaded.stops else WORDS_FOR_SPANS
    buttons = [
        html.Button(text, id=f"go-{name}", className="go", disabled=name != "whole" and not loaded.visits)
        for name, text in zip(BUTTONS, words, strict=True)
    ]
    offered = [{"label": facts.flow_name(trial, flow), "value": flow} for flow in flows]
    choice = select("flow", "Connection", offered, flow, hidden=len(flows) == 1)
    bins = [{"label": "as the view needs", "value": 0}]
    bins += [{"label": readable.duration(ms * 10**6), "value": ms / 1000} for ms in BINS_MS]
    moves = [html.Button(text, id=f"move-{name}", className="go") for name, text in MOVES.items()]
    says = f"Seq/Ack timeline. {headline(loaded)}. {'The table under it has more.' if loaded.visits else ''}"
    address = f"/run/{run.name}/trial/{trial.number}" + (f"/{REVERSE}" if trial.back else "")
    first = {"address": address, "query": query_of(search)}
    named: dict[str, Any] = {"aria-label": says}
    hint = "Drag or “Zoom in”: every zoom brings finer data. Double-click: the whole transfer. Hover: the packet."
    return [
        html.Div([*buttons, *_buttons(EVENTS), *moves], className="bar"),
        html.Div([choice, select("bin", "Rates over", bins, bin_s)], className="bar"),
        dcc.Store(id="timeline-page", data=first | {"flow": flow, "bin": bin_s, "config": dict(graph_config())}),
        dcc.Store(
            id="timeline-shown"
        ),  # a callback without output is not called for elements that have just been added
        html.P(id="timeline-said", role="alert"),
        html.Figure(html.Div(id="timeline", className="timeline"), **named),
        html.Div([html.Span("What is in view as a file:"), *_files()], className="bar"),
        *sentences([hint, *loaded.notes]),
        *_limits(loaded, trial, facts.trial_row(run, trial.number)),
        *_visits(loaded),
        *_events(),
    ]


def _buttons(texts: dict[str, str]) -> list[html.Button]:
    return [html.Button(text, id=name, className="go") for name, text in texts.items()]


def _files() -> list[html.A | html.Button]:
    """Exports of the view; the browser completes the link, and makes the pictures itself."""
    file = "segments.csv"
    return [html.A("CSV of the segments", id="export-csv", href=file, download=file), *_buttons(PICTURES)]


def _limits(loaded: Timeline, trial: Trial, row: Json) -> list[Any]:
    """What limited the transfer, with the colours of the band in the timeline."""
    found = limit_table(loaded)
    if not found:
        return []
    rows: list[list[Any]] = [
        [html.Span([html.Span(className="swatch", style={"background": COLOURS[name]}), words]), time, share]
        for name, words, time, share in found
    ]
    responses = [] if trial.back else limits_of_responses(row)
    whose = "the requests" if responses else "the transfer"
    if trial.back:
        whose = "the responses" if trial.params.get("request_bytes") else "what the receiver sent"
    if not loaded.limits_whole:
        whose = f"the connection to the {'far' if trial.back else 'near'} gateway"
    return [
        html.H2(f"What limited {whose}"),
        *sentences(verdicts(loaded)),
        rich_table(("Limited by", "Time", "Share"), rows, frozenset({1, 2})),
        *sentences(responses),
    ]


def _events() -> list[Any]:
    """The list of what happened in the view that is drawn; the browser fills it."""
    listed = html.Table(
        [html.Thead(html.Tr([html.Th(word, scope="col") for word in HEAD])), html.Tbody()], id="timeline-events"
    )
    hint = "A time leads to its event. Zoom in for fewer; the list has all of them, page by page."
    return [
        html.H2("Events in view"),
        html.Div([*_buttons(PAGES), html.Span(id="timeline-events-said", role="status")], className="bar"),
        scrolled("Events in view", listed),
        *sentences([hint]),
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


def register(app: Dash) -> None:
    """Registers the timeline's controls. All of them work in the browser (assets/timeline.js)."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("timeline", "mounted"), Output("timeline-shown", "data"), Input("timeline-page", "data")
    )
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("timeline", "act"),
        *(Input(f"go-{name}", "n_clicks") for name in BUTTONS),
        *(Input(f"move-{name}", "n_clicks") for name in MOVES),
        *(Input(name, "n_clicks") for name in (*EVENTS, *PAGES, *PICTURES)),
        prevent_initial_call=True,
    )
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("timeline", "chosen"),
        Input("flow", "value"),
        Input("bin", "value"),
        prevent_initial_call=True,
    )
