"""The page of a running delay box: rates, queue, lateness and drops of each direction, and new values for its path.

Fields are empty, and only what is entered is sent, in one request that the box takes as a whole or not at all. So the
page does not undo changes that were made elsewhere.
"""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, State, html, no_update

from dashboard.core.elements import READ_ONLY, facts_list, table
from dashboard.live import box
from dashboard.live.box import PARAMETERS, WAYS, BoxState, BoxWatcher
from dashboard.live.page import LiveView, button, choice, field
from dashboard.live.texts import box_facts, box_line, box_table, parameter
from dashboard.live.watcher import Seen
from netcommon.errors import LfpError

NAMES = tuple(one.name for one in PARAMETERS)
DIRECTIONS = {"both": "both", "ab": "ab (from a to b)", "ba": "ba (from b to a)"}
_UNCHANGED = (no_update,) * len(NAMES)


def _facts(seen: Seen[BoxState]) -> list[Any]:
    return [] if seen.state is None else [facts_list(box_facts(seen)), table(box_table(seen))]


VIEW: LiveView[BoxState] = LiveView(
    "box",
    "Delay box",
    "Output of the box in the last 10 minutes",
    {f"{way}.out_bytes": DIRECTIONS[way] for way in WAYS},
    box_line,
    _facts,
    lambda state: state.numbers,
)


def page(watcher: BoxWatcher, *, read_only: bool = False) -> html.Div:
    """The page."""
    fields = [
        field(f"box-{one.name}", f"New {one.name}", type="text", value="", placeholder=one.example)
        for one in PARAMETERS
    ]
    controls = [
        choice("box-way", "Direction", DIRECTIONS, "both"),
        html.Div([*fields, button("box-set", "Set")], className="bar"),
        html.P("An empty field leaves the parameter as it is.", className="small"),
    ]
    return VIEW.page(watcher, controls, read_only=read_only)


def register(app: Dash, watcher: BoxWatcher, *, read_only: bool) -> None:
    """Registers the page's callbacks. `read_only`: every request to change something is refused."""

    def set_all(*given: Any) -> tuple[Any, ...]:
        inputs, (way, *texts) = given[: len(NAMES) + 1], given[len(NAMES) + 1 :]
        if not any(inputs):
            return no_update, *_UNCHANGED
        entered = {name: str(text).strip() for name, text in zip(NAMES, texts, strict=True) if text}
        said, done = changed(watcher, str(way), entered, read_only=read_only)
        return said, *([""] * len(NAMES) if done else _UNCHANGED)

    VIEW.register(app, watcher)
    app.callback(
        Output("box-said", "children"),
        *(Output(f"box-{name}", "value") for name in NAMES),
        Input("box-set", "n_clicks"),
        *(Input(f"box-{name}", "n_submit") for name in NAMES),
        State("box-way", "value"),
        *(State(f"box-{name}", "value") for name in NAMES),
        prevent_initial_call=True,
    )(set_all)


def changed(watcher: BoxWatcher, way: str, values: dict[str, str], *, read_only: bool = False) -> tuple[str, bool]:
    """Sets parameters; returns a text about it, and whether the box took them."""
    if read_only:
        return READ_ONLY, False
    try:
        found = box.change(watcher, "" if way == "both" else way, values)
    except LfpError as error:
        return str(error), False
    parts = [f"{way} {parameter(name, value)}" for way, new in found.items() for name, value in new.items()]
    return (f"Changed: {', '.join(parts)}." if parts else "Nothing has changed: the box had these values."), True
