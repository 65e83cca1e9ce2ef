"""The views of a timeline that a page asks for: `/run/<name>/trial/<n>/view?flow=0&from=1.2&to=1.9`, the hover texts of
a view that is already drawn (`…/hover?…`), and the list of what happened in it (`…/events?…`). The same addresses under
`…/reverse/` are about what the receivers sent. assets/timeline.js shows them.

The answers do not pass through Dash: its round trip, and its way of comparing figures, took longer than drawing.
Invariants: nothing in a request names a file, times are limited to the transfer and some time around it, and one view
is made at a time, so that fifty browsers need the memory of one.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

from dash import Dash
from flask import Response, request

from dashboard.core.runs import REVERSE, Json, Run, Trial
from dashboard.timeline import timeline
from dashboard.timeline.event_rows import event_rows
from dashboard.timeline.export import segments_csv
from dashboard.timeline.figure import timeline_sheet
from dashboard.timeline.sheet import Sheet
from dashboard.timeline.timeline import Timeline
from netcommon.errors import EXIT_USAGE, LfpError

PAGE_EVENTS = 50
KEPT_VIEWS = 8  # number of views whose hover texts may still be asked for
LEAST_NS = 1  # the length of the shortest view
ADDRESS = "/run/<name>/trial/<int:number>"


@dataclass(frozen=True)
class Asked:
    """A view: the connection, the span in ns from the first segment, and the width of bins of rates (0: chosen for the
    span). `visit`: the number of the stop or slow span that is shown, -1 where a reader chose the span."""

    flow: int
    t0_ns: int
    t1_ns: int
    bin_ns: int = 0
    visit: int = -1
    said: str = ""


def asked(loaded: Timeline, flow: int, query: Mapping[str, str]) -> Asked:
    """What a query asks for: `from` and `to` in s, with `event` (`next`, `previous`) the view moves to the event next
    to their middle; or `visit` (a number, or `whole`); by default the first view. Raises LfpError (status 2) if a time
    or number is malformed."""
    bin_ns = round(_number(query, "bin", 0.0) * 1e9)
    if "from" in query or "to" in query:
        longest = max(loaded.duration_ns, LEAST_NS)
        t0, t1 = (_number(query, name, 0.0) * 1e9 for name in ("from", "to"))
        start = round(min(max(t0, -longest), 2 * longest))
        chosen = Asked(flow, start, max(round(min(t1, 3 * longest)), start + LEAST_NS), bin_ns)
        return _beside(loaded, chosen, query["event"]) if "event" in query else chosen
    if query.get("visit") == "whole":
        return Asked(flow, 0, max(loaded.duration_ns, LEAST_NS), bin_ns)
    visit = int(_number(query, "visit", 0))
    if not loaded.visits:
        return Asked(flow, *loaded.first_view_ns(), bin_ns)
    visit = max(0, min(visit, len(loaded.visits) - 1))
    return Asked(flow, *loaded.visit_view_ns(visit), bin_ns, visit)


def _beside(loaded: Timeline, view: Asked, way: str) -> Asked:
    """The view moved so that the next or previous event is in its middle."""
    half = (view.t1_ns - view.t0_ns) // 2
    middle, events = view.t0_ns + half, loaded.happened
    found = events.before(middle - 1) if way == "previous" else events.after(middle + 1)
    if found is None:
        return replace(view, said=f"There is no {'earlier' if way == 'previous' else 'later'} event.")
    start = found - half
    return replace(view, t0_ns=start, t1_ns=start + view.t1_ns - view.t0_ns)


def _number(query: Mapping[str, str], name: str, default: float) -> float:
    text = query.get(name, "")
    try:
        value = float(text) if text else default
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise LfpError(f"{name}={text}: a number is expected, such as {name}=1.5", 2)
    return value


def sheet_of(loaded: Timeline, view: Asked) -> Sheet:
    """The drawn view. The layout's `meta` tells the page the number of the visit, and the sentences that it shows."""
    sheet = timeline_sheet(loaded, (view.t0_ns, view.t1_ns), bin_ns=view.bin_ns)
    sheet.layout["meta"] |= {"visit": view.visit, "said": view.said}
    return sheet


def query_of(search: str) -> str:
    """The part of a page's address that says which view is shown, for the first request of the page."""
    known = [(name, value) for name, value in parse_qsl(search.lstrip("?")) if name in ("flow", "from", "to", "bin")]
    return urlencode(known)


class Views:
    """The views of all runs, one at a time."""

    def __init__(self, run_named: Callable[[str], Run]) -> None:
        self._run_named = run_named
        self._lock = threading.Lock()
        self._of: Timeline | None = None
        self._kept: dict[Asked, Sheet] = {}

    def view(self, name: str, number: int, query: Mapping[str, str], back: bool = False) -> Json:
        """What plotly.js draws. This and the next three methods raise LfpError for a run, trial or connection that does
        not exist, and for a malformed query."""
        with self._lock:
            return self._drawn(*self._asked(name, number, query, back)).plain()

    def hover(self, name: str, number: int, query: Mapping[str, str], back: bool = False) -> list[Any]:
        """The hover texts of the same view."""
        with self._lock:
            return self._drawn(*self._asked(name, number, query, back)).hover()

    def events(self, name: str, number: int, query: Mapping[str, str], back: bool = False) -> Json:
        """A page of the list of what happened in the view, and the number of entries."""
        with self._lock:
            loaded, view = self._asked(name, number, query, back)
            rows = loaded.happened.between(view.t0_ns, view.t1_ns)
            total = rows.stop - rows.start
            page = max(0, min(int(_number(query, "page", 0)), (total - 1) // PAGE_EVENTS))
            first = rows.start + page * PAGE_EVENTS
            shown = slice(first, min(first + PAGE_EVENTS, rows.stop))
            texts = list(event_rows(loaded, loaded.happened, shown))
            return {"rows": texts, "page": page, "pages": -(-total // PAGE_EVENTS), "total": total, "size": PAGE_EVENTS}

    def segments(self, name: str, number: int, query: Mapping[str, str], back: bool = False) -> bytes:
        """The segments of the view as CSV."""
        with self._lock:
            loaded, view = self._asked(name, number, query, back)
            return segments_csv(loaded, view.t0_ns, view.t1_ns)

    def _asked(self, name: str, number: int, query: Mapping[str, str], back: bool) -> tuple[Timeline, Asked]:
        run = self._run_named(name)
        trial = run.trial(number).turned() if back else run.trial(number)
        flow = _flow(trial, query)
        loaded = timeline.load(run, trial, flow)
        return loaded, asked(loaded, flow, query)

    def _drawn(self, loaded: Timeline, view: Asked) -> Sheet:
        """The view, kept for its hover texts. Only views of one timeline are kept: they keep its columns in memory."""
        if self._of is not loaded:
            self._of, self._kept = loaded, {}
        sheet = self._kept.pop(view, None) or sheet_of(loaded, view)
        self._kept[view] = sheet
        while len(self._kept) > KEPT_VIEWS:
            del self._kept[next(iter(self._kept))]
        return sheet


def _flow(trial: Trial, query: Mapping[str, str]) -> int:
    if not trial.captured:
        raise LfpError(f"trial {trial.number} has no timeline: its packets were not captured", 2)
    flows = trial.flows or [0]
    flow = int(_number(query, "flow", flows[0]))
    if flow not in flows:
        raise LfpError(f"flow={flow}: trial {trial.number} has the connections {', '.join(map(str, flows))}", 2)
    return flow


def register(app: Dash, run_named: Callable[[str], Run]) -> None:
    """Registers the addresses."""
    views = Views(run_named)

    def answered(make: Callable[..., Any], back: bool, name: str, number: int) -> Response:
        try:
            found, status = make(name, number, request.args, back), 200
            if isinstance(found, bytes):
                return Response(found, mimetype="text/plain", headers={"Content-Disposition": "attachment"})
        except LfpError as error:
            found, status = {"error": str(error)}, 404 if error.status == EXIT_USAGE else 500  # damaged
        except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors: damaged, or just deleted
            found, status = {"error": f"run {name}, trial {number}: not readable ({error})"}, 500
        text = json.dumps(found, separators=(",", ":"))
        return Response(text, status, mimetype="application/json", headers={"Cache-Control": "no-cache"})

    made: dict[str, Callable[..., Any]] = {"view": views.view, "hover": views.hover, "events": views.events}
    made["segments.csv"] = views.segments
    for word, make in made.items():
        for place, back in (("", False), (f"/{REVERSE}", True)):
            name = f"{word}{place}".replace(".", "-")
            app.server.add_url_rule(f"{ADDRESS}{place}/{word}", name, partial(answered, make, back))
