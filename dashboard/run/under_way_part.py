"""What the page of a run has on top while the run is under way: how far it is, the trials that run now, and the growing
timeline of the one in real time.

Each open page asks twice a second. When a trial ends, and when the run ends, the whole page is made again: its figure,
its table of trials and its verdict have grown by then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate

from dashboard.core.elements import graph, scrolled, sentences, table
from dashboard.core.runs import Run
from dashboard.run.growing_figure import MOST, growing_figure
from dashboard.run.under_way import Growing, Grown, UnderWay, under_way
from dashboard.run.under_way_table import running_table, state_line
from netcommon.errors import EXIT_USAGE, LfpError

POLL_MS = 500
HINT = (
    "The sender's TCP, four times a second, from the kernel. Solid: acknowledged data, unacknowledged data. Dotted: "
    "data sent, congestion window. "
    "Cross: something was sent again. Behind gateways it is the connection to the near one. "
    f"Of many connections the {MOST} with most data are drawn."
)
GROWING = Growing()  # one for this process, so that each file is read once for all browsers


def part(run: Run) -> list[Any]:
    """What the page has on top; nothing once the run has ended."""
    if run.state != "running":
        return []
    now = under_way(run.path, time.time_ns())
    grown = _grown(run, now)
    connections = _together(grown)
    figure = graph("growing", growing_figure(connections), "Growing timeline of the trial that runs. " + HINT)
    return [
        html.H2("Under way"),
        html.P(state_line(run, now), id="under-way-state", role="status"),
        html.Div(_running(now, grown), id="under-way-trials"),
        html.Div([figure, *sentences([HINT])], id="under-way-plot", hidden=not connections),
        dcc.Store(id="under-way-seen", data=seen(run)),
        dcc.Interval(id="under-way-clock", interval=POLL_MS),
    ]


def seen(run: Run) -> list[Any]:
    """When these values change, the whole page is made again: the run's state, the number of trials that have ended,
    and how many of them are valid."""
    return [run.state, len(run.trial_numbers()), sum(row.get("valid") is True for row in run.rows)]


def _grown(run: Run, now: UnderWay | None) -> dict[int, list[Grown]]:
    return {one.number: GROWING.look(run.path, one.number) for one in (now.trials if now else ())}


def _together(grown: dict[int, list[Grown]]) -> list[Grown]:
    return [one for connections in grown.values() for one in connections]


def _running(now: UnderWay | None, grown: dict[int, list[Grown]]) -> list[Any]:
    found = running_table(now, grown)
    return [scrolled("Trials that run now", table(found))] if found.rows else []


def register(app: Dash, run_named: Callable[[str], Run], whole_page: Callable[[str, str], Any]) -> None:
    """Registers the callback by which an open page updates itself. `whole_page` makes the page from the run's name and
    the address's search."""

    def look(_: int | None, pathname: str, search: str | None, before: list[Any]) -> tuple[Any, ...]:
        name = pathname.split("/")[2] if pathname.startswith("/run/") else ""
        try:
            run = run_named(name)
        except (LfpError, OSError, ValueError) as error:
            if isinstance(error, LfpError) and error.status == EXIT_USAGE:
                raise PreventUpdate from None  # the reader has left the page, or the run was deleted
            return whole_page(name, search or ""), *[no_update] * 4  # a damaged table: the page says so
        if seen(run) != before:
            return whole_page(name, search or ""), *[no_update] * 4
        now = under_way(run.path, time.time_ns())
        grown = _grown(run, now)
        connections = _together(grown)
        figure = growing_figure(connections) if connections else no_update
        return no_update, state_line(run, now), _running(now, grown), figure, not connections

    app.callback(
        Output("page", "children", allow_duplicate=True),
        Output("under-way-state", "children"),
        Output("under-way-trials", "children"),
        Output("growing", "figure"),
        Output("under-way-plot", "hidden"),
        Input("under-way-clock", "n_intervals"),
        State("url", "pathname"),
        State("url", "search"),
        State("under-way-seen", "data"),
        prevent_initial_call=True,
    )(look)
