"""The page of two runs side by side: the verdict of `lfp compare` for each setting that both have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update

from dashboard.compare.comparison import Compared, compared, may_differ
from dashboard.compare.sides_figure import sides_figure
from dashboard.core import choice
from dashboard.core.asked import THROUGHPUT
from dashboard.core.choice import Choice
from dashboard.core.controls import Checks, select
from dashboard.core.elements import graph, scrolled, sentences, table
from dashboard.core.parts import VERDICT_CLASS
from dashboard.core.runs import Run
from netcommon.errors import LfpError
from scenarios.plan import columns


def page(base: Run, run: Run, wanted: Choice) -> html.Div:
    """`run` compared with `base`, by the result (`?value=`) and across the settings (`?across=`) of the address."""
    metric = wanted.value or THROUGHPUT
    shared = [name for name in choice.results(run) if name in choice.results(base)]
    results = [{"label": columns.label(name), "value": name} for name in shared]
    return html.Div(
        [
            html.H1("Two runs compared"),
            html.P(["Base: ", _link(base)]),
            html.P(["Run: ", _link(run)]),
            html.Div([select("compare-value", "Result", results, metric), _across(base, run, wanted)], className="bar"),
            *_judged(base, run, metric, wanted.across),
        ]
    )


def _across(base: Run, run: Run, wanted: Choice) -> html.Div:
    """The choice of settings that may differ. If none differs, the choice is hidden rather than left out, because the
    callback needs it."""
    offered = may_differ(base, run)
    listed = list(dict.fromkeys((*offered, *wanted.across)))
    options = [{"label": name, "value": name} for name in listed]
    box = Checks(id="compare-across", legend="May differ", options=options, value=list(wanted.across))
    return html.Div(box, hidden=not listed)


def _judged(base: Run, run: Run, metric: str, across: Sequence[str]) -> list[Any]:
    try:
        found = compared(base, run, metric, across)
    except LfpError as error:
        return [html.P(f"Not compared: {error}")]
    word = {True: "No setting is worse.", False: "Worse at some settings.", None: "Undecided at some settings."}
    box = html.Div(
        [html.Strong(word[found.verdict]), html.P(found.summary, className="small")],
        className=f"verdict {VERDICT_CLASS[found.verdict]}",
    )
    return [box, *_figure(found), scrolled("Comparison", table(found.table)), *sentences(found.notes)]


def _figure(found: Compared) -> list[Any]:
    """Both runs over each other, where a setting differs."""
    if found.sides is None:
        return []
    name = f"{found.sides.metric_name} by {found.sides.x_name}"
    says = f"{name}: both runs, and their difference. The table below has its numbers."
    return [html.H2(name), graph("sides", sides_figure(found.sides), says)]


def _link(run: Run) -> html.Span:
    return html.Span([dcc.Link(run.title, href=f"/run/{run.name}"), f" ({run.name})"])


def register(app: Dash) -> None:
    """Registers the callback from the choice of a result and of settings that may differ to the address."""

    def chosen(value: str, across: list[str], search: str | None) -> Any:
        wanted = Choice(value="" if value == THROUGHPUT else value, across=tuple(across)).search
        return no_update if wanted == (search or "") else wanted

    app.callback(
        Output("url", "search", allow_duplicate=True),
        Input("compare-value", "value"),
        Input("compare-across", "value"),
        State("url", "search"),
        prevent_initial_call=True,
    )(chosen)
