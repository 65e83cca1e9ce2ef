"""Tags for picked runs, on the page of all runs. The request is a POST, which server/auth.py refuses to pages of other
sites."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dash import Dash, Input, Output, State, ctx, dcc, html, no_update

from dashboard.core.elements import READ_ONLY
from dashboard.core.runs import Run
from dashboard.runs.rows import run_rows
from netcommon.errors import LfpError


def bar(*, read_only: bool) -> list[html.Div]:
    """The field and its buttons."""
    parts = [
        html.Label("Tags for the picked runs", htmlFor="tag-words"),
        dcc.Input(id="tag-words", type="text", value="", className="search"),
        html.Button("Add tags", id="tag-add", className="go"),
        html.Button("Remove tags", id="tag-remove", className="go"),
        html.Span(id="tag-said", className="small", role="status"),
    ]
    return [html.Div(parts, className="bar", hidden=read_only)]


def register(app: Dash, list_runs: Callable[[], list[Run]], tag: Callable[..., None] | None) -> None:
    """Registers the buttons. `tag`: as `dashboard.server.changes.Offered` has it; None: the dashboard is read-only, and
    every request is refused."""

    def tagged(adds: int | None, removes: int | None, text: str | None, rows: list[dict[str, str]] | None) -> Any:
        if not (adds or removes):
            return no_update, no_update
        said = changed(tag, [str(row["id"]) for row in rows or []], text or "", remove=ctx.triggered_id == "tag-remove")
        return run_rows(list_runs()), said

    app.callback(
        Output("runs-table", "rowData", allow_duplicate=True),
        Output("tag-said", "children"),
        Input("tag-add", "n_clicks"),
        Input("tag-remove", "n_clicks"),
        State("tag-words", "value"),
        State("runs-table", "selectedRows"),
        prevent_initial_call=True,
    )(tagged)


def changed(tag: Callable[..., None] | None, names: list[str], text: str, *, remove: bool) -> str:
    """Changes the tags of these runs, and says what was done or why not. `text`: words, spaces or commas between."""
    if tag is None:
        return READ_ONLY
    words = text.replace(",", " ").split()
    if not names or not words:
        return "Pick runs by their boxes, and enter their tags."
    try:
        for name in names:
            tag(name, **{"remove" if remove else "add": words})
    except LfpError as error:
        return str(error)
    return f"{', '.join(words)}: {'removed from' if remove else 'given to'} {len(names)} run{'s'[: len(names) > 1]}."
