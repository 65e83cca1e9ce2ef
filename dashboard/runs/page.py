"""The page of all runs, newest first: search, filters, order; two picked runs are compared, and picked ones tagged
(tags_bar.py), exported (core/run_files.py), and deleted after a question. Searching, sorting and picking happen in the
browser (AG Grid)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash_ag_grid import AgGrid

from dashboard.core import run_files
from dashboard.core.elements import sentences
from dashboard.core.runs import Run
from dashboard.runs import tags_bar as run_tags
from dashboard.runs.rows import COLUMNS, run_rows
from netcommon.errors import LfpError

PAGE_ROWS = 50
SEARCH = "(text, options) => ({...options, quickFilterText: text || ''})"
CLASSES = {"good": "params.value == 'valid'", "bad": "params.value == 'not valid'"}
Row = dict[str, str]


def page(runs: list[Run], *, read_only: bool = False) -> html.Div:
    """The table of runs; each title leads to its run. `read_only`: without the button that deletes."""
    if not runs:
        return html.Div([html.H1("Runs"), html.P("No runs here yet: `lfp run lfp-syndrome` makes one.")])
    rows = run_rows(runs)
    buttons = [
        html.Button("Compare two", id="compare", className="go", disabled=True),
        html.Button("Delete…", id="delete", className="go", disabled=True, hidden=read_only),
    ]
    return html.Div(
        [
            html.H1("Runs"),
            html.Div(
                [
                    html.Label("Search all columns", htmlFor="runs-search"),
                    dcc.Input(id="runs-search", type="search", value="", className="search"),
                    *buttons,
                    html.Span(id="export-picked", className="bar-part"),
                    html.Span(id="delete-result", className="small", role="status"),
                ],
                className="bar",
            ),
            *run_tags.bar(read_only=read_only),
            dcc.ConfirmDialog(id="delete-sure", message=""),
            _table(rows),
            *sentences(["Pick runs by their boxes. A field under a head filters its column."]),
        ]
    )


def _table(rows: list[Row]) -> AgGrid:
    own: dict[str, dict[str, Any]] = {
        "run": {"cellRenderer": "markdown", "linkTarget": "_self", "tooltipField": "id", "flex": 5},
        "result": {"flex": 4},
        "started": {"flex": 3, "minWidth": 135},
        "verdict": {"tooltipField": "why", "cellClassRules": CLASSES},
    }
    columns = [{"field": name, "headerName": head, **own.get(name, {})} for name, head in COLUMNS.items()]
    return AgGrid(
        id="runs-table",
        rowData=rows,
        columnDefs=[*columns, {"field": "words", "hide": True}],
        defaultColDef={
            "filter": "agTextColumnFilter",
            "cellDataType": False,
            "floatingFilter": True,
            "flex": 2,
            "wrapText": True,
            "autoHeight": True,
        },
        getRowId="params.data.id",
        selectedRows=[],
        style={"height": None},
        dashGridOptions={
            "domLayout": "autoHeight",
            "rowSelection": {"mode": "multiRow"},
            "pagination": True,
            "paginationPageSize": PAGE_ROWS,
            "includeHiddenColumnsInQuickFilter": True,
            "quickFilterText": "",
            "tooltipShowDelay": 300,
        },
    )


def register(app: Dash, list_runs: Callable[[], list[Run]], delete: Callable[[str], None] | None) -> None:
    """Registers search, comparison and deletion. `delete` deletes the run of a name; None: the dashboard is read-only,
    and a request to delete is refused."""

    def picked(rows: list[Row] | None) -> tuple[bool, bool, str, list[Any]]:
        names = [row["id"] for row in rows or []]
        question = f"Delete {counted(len(names))} for ever?\n" + "\n".join(names)
        return len(names) != 2, not names, question, run_files.links(names) if names else []

    def compare(clicks: int | None, rows: list[Row] | None) -> Any:
        if not clicks or len(rows or []) != 2:
            return no_update
        older_first = sorted(rows or [], key=lambda row: (row["started"], row["id"]))
        return "/compare/" + "/".join(row["id"] for row in older_first)

    def deleted(submits: int | None, rows: list[Row] | None) -> tuple[Any, Any, Any]:
        if not submits or not rows:
            return no_update, no_update, no_update
        said = _delete_all([row["id"] for row in rows], delete)
        return run_rows(list_runs()), [], said

    app.callback(
        Output("compare", "disabled"),
        Output("delete", "disabled"),
        Output("delete-sure", "message"),
        Output("export-picked", "children"),
        Input("runs-table", "selectedRows"),
        prevent_initial_call=True,
    )(picked)
    app.callback(
        Output("url", "pathname", allow_duplicate=True),
        Input("compare", "n_clicks"),
        State("runs-table", "selectedRows"),
        prevent_initial_call=True,
    )(compare)
    app.callback(
        Output("runs-table", "rowData"),
        Output("runs-table", "selectedRows"),
        Output("delete-result", "children"),
        Input("delete-sure", "submit_n_clicks"),
        State("runs-table", "selectedRows"),
        prevent_initial_call=True,
    )(deleted)
    app.clientside_callback(  # type: ignore[no-untyped-call]
        SEARCH,
        Output("runs-table", "dashGridOptions"),
        Input("runs-search", "value"),
        State("runs-table", "dashGridOptions"),
        prevent_initial_call=True,
    )
    app.clientside_callback(  # type: ignore[no-untyped-call]
        "clicks => Boolean(clicks)",
        Output("delete-sure", "displayed"),
        Input("delete", "n_clicks"),
        prevent_initial_call=True,
    )


def _delete_all(names: list[str], delete: Callable[[str], None] | None) -> str:
    """Deletes these runs and says what was done, or why not."""
    if delete is None:
        return "Nothing is deleted: this dashboard is read-only (--read-only)."
    done = 0
    try:
        for name in names:
            delete(str(name))
            done += 1
    except LfpError as error:
        return f"{counted(done)} deleted. {error}"
    return f"{counted(done)} deleted."


def counted(number: int) -> str:
    return f"{number} run{'' if number == 1 else 's'}"
