"""The HTML document in which every page is shown: its scripts, and the requests whose answers a page needs at once.

plotly.js is our own (core/plotly_js.py). Scripts of components that no page has are left out, which is half of all that
Dash would load. The list of runs has the scripts of its table in its document. Other pages load them when they show
such a table (assets/runs_table.js). Rejected for all other scripts: loading each when a page needs it, because the page
would wait for one after the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import escape
from typing import Any

from dash import Dash
from flask import Response, request

from dashboard.core import plotly_js
from dashboard.core.elements import graph_config
from dashboard.timeline import views as timeline_view

RUN_ADDRESS = re.compile(r"^/run/(?P<run>[^/]+)/?(?:trial/(?P<trial>\d{1,9})/?(?P<back>reverse/?)?)?$")
NOT_SHOWN = (
    "/dash_table/",
    "async-enterprise",
    *(
        f"/dcc/async-{name}."
        for name in ("datepicker", "dropdown", "highlight", "markdown", "mathjax", "slider", "upload")
    ),
)
RUNS_TABLE = "/dash_ag_grid/"
PLOTLY, PLOTLY_ADDRESS = "/plotly/package_data/", "/plotly.<fingerprint>.js"
BY_DASH = ("/_dash-layout", "/_dash-dependencies")
A_YEAR_S = 31_536_000
_SCRIPT = re.compile(r'<script src="([^"]+)"></script>\n?')


class Application(Dash):
    """The document of all addresses. It makes the browser ask at once for what Dash needs, and under a trial's address
    for the trial's view. So the server makes the answers while the browser reads the scripts. `has_timeline`: whether a
    trial of a run was captured, or what its receivers sent."""

    def __init__(self, has_timeline: Callable[[str, int, bool], bool], **options: Any) -> None:
        super().__init__(__name__, **options)
        self._has_timeline = has_timeline
        self.server.add_url_rule(PLOTLY_ADDRESS, "plotly", _plotly)

    def interpolate_index(self, metas: str = "", scripts: str = "", **parts: str) -> str:  # type: ignore[override]
        metas += "".join(map(_preload, BY_DASH))
        found = RUN_ADDRESS.match(request.path)
        if found and found["trial"] and self._has_timeline(found["run"], int(found["trial"]), bool(found["back"])):
            metas += _first_view(request.path.rstrip("/"), request.query_string.decode(errors="replace"))
        metas += "<script>window.lfp_native = {parseInt, parseFloat, trim: String.prototype.trim}</script>"
        at_once, later = needed(scripts, runs_table=request.path == "/")
        metas += f"<script>window.lfp_later = {json.dumps(later)}</script>"
        own = parts | {"metas": metas, "scripts": at_once}
        return str(super().interpolate_index(**own))  # type: ignore[no-untyped-call]


def _first_view(address: str, search: str) -> str:
    """Makes the browser fetch the view of a trial. `lfp_first` lets assets/timeline.js draw it before Dash has made the
    page."""
    query = timeline_view.query_of(search)
    first = {"address": address, "query": query, "config": dict(graph_config())}
    text = json.dumps(first).replace("<", "\\u003c")
    return _preload(f"{address}/view" + (f"?{query}" if query else "")) + f"<script>window.lfp_first = {text}</script>"


def _preload(address: str) -> str:
    return f'<link rel="preload" as="fetch" crossorigin href="{escape(address)}">'


def needed(scripts: str, *, runs_table: bool) -> tuple[str, list[str]]:
    """The tags of the scripts that a page loads at once, and the addresses of those that it may load later. plotly.js,
    the largest one, is first, and is our own version. `runs_table`: the page loads the scripts of the table of runs at
    once."""
    ours = f'<script src="{PLOTLY_ADDRESS.replace("<fingerprint>", plotly_js.fingerprint())}"></script>\n'
    later = [] if runs_table else [address for address in _SCRIPT.findall(scripts) if RUNS_TABLE in address]
    left_out = (PLOTLY, *NOT_SHOWN, *later)
    return ours + _SCRIPT.sub(lambda tag: "" if any(part in tag[1] for part in left_out) else tag[0], scripts), later


def _plotly(fingerprint: str) -> Response:
    """plotly.js. A browser keeps it under its fingerprint."""
    kept = f"max-age={A_YEAR_S}, immutable" if fingerprint == plotly_js.fingerprint() else "no-cache"
    return Response(plotly_js.script(), mimetype="text/javascript", headers={"Cache-Control": kept})
