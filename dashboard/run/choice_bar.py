"""The controls over a run's figure: its axes, result and lines, and whether theory and paper are shown. They write the
choice into the address, and the page is built from the address: a link is the view, and the browser's Back works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dash import Dash, Input, Output, State, html, no_update

from dashboard.core import choice
from dashboard.core.asked import PAPER, THEORY
from dashboard.core.choice import Choice
from dashboard.core.controls import Checks, Options, select
from dashboard.core.runs import Run
from scenarios.plan import columns

IDS = ("choice-x", "choice-by", "choice-value", "choice-series")
LABELS = ("Across", "Up", "Result", "Lines by")


def bar(run: Run, chosen: Choice) -> list[Any]:
    """The controls; none for a run whose trials differ in no setting."""
    settings = choice.axes(run)
    if not settings:
        return []
    now = choice.effective(run, chosen)
    outcomes = [{"label": columns.label(name), "value": name} for name in choice.results(run)]
    lines: Options = [{"label": "all that differ", "value": choice.EVERY}, *settings]
    seconds: Options = [{"label": "the result", "value": choice.NO_SECOND}, *settings]
    options: tuple[Options, ...] = (settings, seconds, outcomes, lines)
    fields = [
        select(name, label, own, value)
        for name, label, own, value in zip(IDS, LABELS, options, (now.x, now.by, now.value, now.series), strict=True)
    ]
    shown = Checks(
        id="choice-show",
        legend="Shown",
        value=sorted({THEORY, PAPER} - chosen.hide),
        options=[{"label": "theory", "value": THEORY}, {"label": "the paper's values", "value": PAPER}],
    )
    return [html.Div([*fields, shown], className="chooser")]


def register(app: Dash, run_at: Callable[[str], Run]) -> None:
    """Registers the callback from the controls to the address. `run_at`: the run of a page's address."""

    def chosen(x: str, by: str, value: str, series: str, shown: list[str], pathname: str, search: str | None) -> Any:
        wanted = choice.of_controls(run_at(pathname), x, by, value, series, shown).search
        return no_update if wanted == (search or "") else wanted

    app.callback(
        Output("url", "search"),
        *(Input(name, "value") for name in IDS),
        Input("choice-show", "value"),
        State("url", "pathname"),
        State("url", "search"),
        prevent_initial_call=True,
    )(chosen)
