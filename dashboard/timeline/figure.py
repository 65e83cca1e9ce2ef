"""The timeline figure (lfp-1995/fig4): Seq and Ack of both ends over time. Under it, on the same time axis, are
unacknowledged data with cwnd, RTT and throughput. With gateways it has client, gateway in, gateway out, server and the
tunnel.

The figure is made again for every visible span, so that its size does not depend on the capture's.
"""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from dashboard.core.messages import Messages
from dashboard.core.theme import AXIS, LAYOUT
from dashboard.core.units import scale
from dashboard.timeline import slow
from dashboard.timeline.flow import Stop
from dashboard.timeline.messages import ENGLISH, limit_words
from dashboard.timeline.panels import GATEWAY_PANELS, LIMITS, PANELS, Panel
from dashboard.timeline.sheet import Sheet, y_axis
from dashboard.timeline.stops import FULL_LABEL_PX, add_stops, stop_text
from dashboard.timeline.timeline import Timeline
from dashboard.timeline.view import BACK_FIRST, CLIENT, PLAIN, PLOT_WIDTH_PX, View
from netcommon import readable
from scenarios.plan.causes import ALL_LIMITS

SHORT_LABELS_PX = FULL_LABEL_PX - 1  # the largest plot width at which stops have short labels
LABEL_ABOVE = 0.02  # distance of the stops' labels from the lower edge of the Seq/Ack panel
POINTS = 1000  # most points of a line: one for each pixel of the plot on a screen of 1,500
STILL_POINTS, STILL_HEIGHT = 1500, 980  # a report's figure, which cannot ask for finer points
LEGEND_PX = 350  # margin for legends; fixed, because plotly.js redraws everything when the margin changes
BAND: dict[str, Any] = {
    "range": [-1, 1],
    "fixedrange": True,
    "showticklabels": False,
    "showgrid": False,
    "zeroline": False,
    "automargin": False,
}
SEQUENCE = ".12~s"  # 10.00002G: with d3's six digits many ticks of a close zoom would look the same


def timeline_figure(
    timeline: Timeline,
    span_ns: tuple[int, int] | None = None,
    *,
    points: int = POINTS,
    height: int = 1080,
    width_px: int = PLOT_WIDTH_PX,
    still: bool = False,
    say: Messages = ENGLISH,
) -> go.Figure:
    """The figure for a span (ns from the first segment; default `Timeline.first_view_ns`). Lines have at most `points`
    points, and bands have labels that a plot of `width_px` has room for. It is drawn once, so its margin may follow its
    legends. `still`: a picture that nobody can zoom, so it has short labels of stops, which do not cover the curves."""
    room = SHORT_LABELS_PX if still else width_px
    sheet = timeline_sheet(timeline, span_ns, points=points, height=height, width_px=room, say=say)
    sheet.layout["margin"] |= {"r": 20, "autoexpand": True}
    return sheet.figure()


def timeline_sheet(
    timeline: Timeline,
    span_ns: tuple[int, int] | None = None,
    *,
    points: int = POINTS,
    height: int = 1080,
    bin_ns: int = 0,
    width_px: int = PLOT_WIDTH_PX,
    say: Messages = ENGLISH,
) -> Sheet:
    """The figure as plain values, which are made in a fraction of the time. `bin_ns`: the width of bins of rates; 0:
    the one that suits the span."""
    t0, t1 = span_ns or timeline.first_view_ns()
    panels = GATEWAY_PANELS if timeline.server else PANELS
    if timeline.limits:
        panels = (panels[0], LIMITS, *panels[1:])
    leg = (BACK_FIRST if timeline.back else CLIENT) if timeline.server else PLAIN
    view = View(timeline, int(t0), max(int(t1), int(t0) + 1), points, bin_ns, width_px, leg=leg, say=say)
    sheet = Sheet([panel.height for panel in panels])
    for row, panel in enumerate(panels, start=1):
        panel.draw(sheet, view, row)
        if panel.band:
            sheet.layout[y_axis(row)] |= BAND | {"title": AXIS["title"] | {"text": say(panel.title)}}
            continue
        _name_axis(sheet, panel, row, say)
        _add_legend(sheet, row)
    add_stops(sheet, view, sheet.layout["yaxis"]["domain"][0] + LABEL_ABOVE)
    _lay_out(sheet, view, height)
    return sheet


def _name_axis(sheet: Sheet, panel: Panel, row: int, say: Messages) -> None:
    """Gives a panel its unit. `meta` has the unit's size for the page, because vertical zooms are in that unit. The
    browser keeps a vertical zoom until the unit changes."""
    title, name = say(panel.title), ""
    if panel.base:
        unit = scale(sheet.traces_of(row), "y", panel.base)
        title, name = unit.title(title), unit.name
        sheet.layout.setdefault("meta", {})[y_axis(row)] = unit.size
    sheet.layout[y_axis(row)] |= AXIS | {
        "title": AXIS["title"] | {"text": title},
        "ticklabeloverflow": "allow",
        "rangemode": "tozero" if panel.base else "normal",
        "uirevision": f"timeline {name}",
    }


def _add_legend(sheet: Sheet, row: int) -> None:
    """Gives a panel a legend of its own, to its right."""
    top = sheet.layout[y_axis(row)]["domain"][1]
    sheet.layout["legend" if row == 1 else f"legend{row}"] = {
        "x": 1.01,
        "y": top,
        "yanchor": "top",
        "font": {"size": 14},
        "tracegroupgap": 0,
    }


def headline(timeline: Timeline, say: Messages = ENGLISH) -> str:
    """One line: how long sending was stopped, in words and as lfp-1995's s. If it never was, what held it back, and the
    slowest span."""
    if timeline.stops:
        stops = say.count("title.stops", len(timeline.stops))
        share = timeline.stopped_share
        if share is None:
            return say("title.stops.share_unknown", stops=stops)
        return say("title.stopped", share=readable.share(share, 3), s=readable.number(share, 3), stops=stops)
    held = _held_back(timeline, say)
    if timeline.slow_spans:
        slowest = timeline.slow_spans[0]
        return say("title.slowest.why", held=held, between=_between(slowest, say), why=stop_text(say, slowest))
    return say("title.share_unknown") if timeline.stopped_share is None else say("title.even", held=held)


def _held_back(timeline: Timeline, say: Messages) -> str:
    """A sentence about the host's part that limited most of the transfer; empty where there is none."""
    most = timeline.limits.most_of_the_time() if timeline.limits else None
    cause = ALL_LIMITS.get(most[0]) if most else None
    if most is None or cause is None or cause.role != "host":
        return ""
    words = limit_words(say, cause.name)
    return say("title.held", cause=words, comma="," if "," in words else "", share=readable.share(most[1], 2))


def _between(visit: Stop, say: Messages) -> str:
    """`1.2 s to 1.9 s`, on the time axis."""
    return say("title.between", start=readable.number(visit.t0_ns / 1e9), end=readable.number(visit.t1_ns / 1e9))


def _title(timeline: Timeline, say: Messages) -> str:
    """The headline without the text about the slowest span, because the span's label says more."""
    if timeline.stops or not timeline.slow_spans:
        return headline(timeline, say)
    slowest, held = timeline.slow_spans[0], _held_back(timeline, say)
    between = _between(slowest, say)
    if held or slowest.said is None:
        return say("title.slowest", held=held, between=between)
    return say("title.slowest.why", held=held, between=between, why=say.of(slow.rate_of(slowest.said)))


def _span_text(view: View) -> str:
    """`1.2 to 1.9 s of 60 s`, with as many digits as it takes to tell the ends apart."""
    for digits in range(readable.DIGITS, 16):
        start, end = (readable.number(ns / 1e9, digits) for ns in (view.t0, view.t1))
        if start != end:
            break
    return view.say("note.span", start=start, end=end, whole=readable.number(view.timeline.duration_ns / 1e9))


def _lay_out(sheet: Sheet, view: View, height: int) -> None:
    tl, span = view.timeline, _span_text(view)
    note = "; ".join([span, *dict.fromkeys(view.notes)] if view.notes else [span, view.say("note.all")])
    sheet.layout |= LAYOUT | {
        "height": height,
        "dragmode": "zoom",
        "uirevision": "timeline",
        "margin": LAYOUT["margin"] | {"t": 80, "r": LEGEND_PX, "autoexpand": False},
        "title": {
            "text": _title(tl, view.say),
            "x": 0,
            "xref": "paper",
            "font": {"size": 20},
            "subtitle": {"text": note, "font": {"size": 14}},
        },
    }
    sheet.layout["yaxis"]["tickformat"] = SEQUENCE
    sheet.layout["xaxis"] |= AXIS | {
        "range": [view.t0 / 1e9, view.t1 / 1e9],
        "ticklabeloverflow": "allow",
        "title": AXIS["title"] | {"text": view.say("axis.x")},
    }
