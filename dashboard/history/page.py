"""The page of a metric over all runs: what `lfp history` prints and `lfp history --plot` draws, with the choice of
metric, scenario and number of runs. The address says what is shown, so a link leads to the same view."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update

from dashboard.core.controls import select
from dashboard.core.elements import graph, rich_table, scrolled, sentences
from dashboard.history import table as history
from dashboard.history.figure import Panel, panel_figure, panels
from dashboard.history.table import ALL, LASTS, Asked
from netcommon.errors import LfpError
from scenarios.plan import columns

IDS = ("history-metric", "history-scenario", "history-last")
MOST_PANELS = 12
HINT = "Median, minimum and maximum of each cell's valid trials. The axis names each run by the build of its gateway."


def page(runs_dir: Path, search: str) -> html.Div:
    """The page of what an address asks for."""
    try:
        asked = Asked.of(search)
        names = history.scenarios(runs_dir)
    except LfpError as error:
        return html.Div([html.H1("History"), html.P(str(error)), dcc.Link("History", href="/history")])
    parts: list[Any] = [html.H1("History"), html.Div(_controls(asked, names), className="chooser")]
    try:
        shown = panels(history.found(runs_dir, asked))
    except LfpError as error:
        return html.Div([*parts, html.P(str(error))])
    left_out = [f"{len(shown) - MOST_PANELS} more panels are left out: choose a scenario."][: len(shown) > MOST_PANELS]
    parts += sentences([HINT, *left_out])
    for number, panel in enumerate(shown[:MOST_PANELS]):
        parts += _panel(panel, asked, number, runs_dir)
    return html.Div(parts)


def _controls(asked: Asked, names: list[str]) -> list[html.Div]:
    metrics = [{"label": columns.label(name), "value": name} for name in history.metrics()]
    scenarios = [{"label": "all scenarios", "value": ALL}, *({"label": name, "value": name} for name in names)]
    lasts = [{"label": f"the last {count}", "value": str(count)} for count in LASTS]
    return [
        select(IDS[0], "Result", metrics, asked.metric),
        select(IDS[1], "Scenario", scenarios, asked.scenario or (names[0] if names else ALL)),
        select(IDS[2], "Runs", lasts, str(asked.last)),
    ]


def _panel(panel: Panel, asked: Asked, number: int, runs_dir: Path) -> list[Any]:
    heading = f"{panel.scenario}, {panel.time} time"
    table = history.history_table(panel.entries, asked.metric)
    place = len(table.head) - 1 - history.RUN_AT
    rows: list[list[Any]] = [list(row) for row in table.rows]
    for row in rows:
        if (runs_dir / row[place] / "manifest.json").is_file():  # a run in a subfolder has no page
            row[place] = dcc.Link(row[place], href=f"/run/{row[place]}")
    figure = panel_figure(panel, asked.metric).update_layout(title_text="", margin_t=20)  # the heading says it
    says = f"{columns.label(asked.metric)}: {heading}. The table under it has its numbers."
    return [
        html.H2(heading),
        graph(f"history-{number}", figure, says),
        scrolled(heading, rich_table(table.head, rows, table.numeric), dense=True),
    ]


def register(app: Dash) -> None:
    """Registers the callback from the controls to the address."""

    def chosen(metric: str, scenario: str, last: str, search: str | None) -> Any:
        wanted = Asked(metric, scenario, int(last)).search
        return no_update if wanted == (search or "") else wanted

    app.callback(
        Output("url", "search", allow_duplicate=True),
        *(Input(name, "value") for name in IDS),
        State("url", "search"),
        prevent_initial_call=True,
    )(chosen)
