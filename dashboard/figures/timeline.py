"""The timeline figure (lfp-1995/fig4): Seq and Ack of both ends over time. Under it, on the same time axis, are bytes
in flight with cwnd, RTT and throughput. With gateways it has client, gateway in, gateway out, server and the tunnel.

The figure is made anew for every visible span, so that its size does not depend on the capture's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard.data.flow import Stop
from dashboard.data.timeline import Timeline
from dashboard.figures.panels import add_flight, add_passage, add_rtt, add_throughput, add_tunnel
from dashboard.figures.seqack import add_seqack
from dashboard.figures.stops import add_stops
from dashboard.figures.theme import AXIS, LAYOUT
from dashboard.figures.units import scale
from dashboard.figures.view import CLIENT, PLAIN, View
from netcommon import readable

LABEL_ABOVE = 0.02  # distance of the stops' labels from the lower edge of the Seq/Ack panel
POINTS = 2000
SEQUENCE = ".12~s"  # 10.00002G: d3's own six digits write many ticks of a close zoom alike


@dataclass(frozen=True)
class Panel:
    """One row of the figure: the title of its axis without unit, its share of the height, the function that draws it,
    and the base unit in which it draws. Without one the axis counts bytes of the stream."""

    title: str
    height: float
    draw: Callable[[go.Figure, View, int], None]
    base: str = ""


PANELS = (
    Panel("Sequence number (bytes)", 0.5, add_seqack),
    Panel("In flight", 0.19, add_flight, "bytes"),
    Panel("RTT", 0.13, add_rtt, "ns"),
    Panel("Rate", 0.18, add_throughput, "bps"),
)
GATEWAY_PANELS = (
    Panel("Sequence number (bytes)", 0.42, add_seqack),
    Panel("In flight", 0.15, add_flight, "bytes"),
    Panel("Time", 0.12, add_passage, "ns"),
    Panel("Rate", 0.14, add_throughput, "bps"),
    Panel("Tunnel", 0.17, add_tunnel, "bps"),
)


def timeline_figure(
    timeline: Timeline, span_ns: tuple[int, int] | None = None, *, points: int = POINTS, height: int = 1080
) -> go.Figure:
    """The figure for a span (ns from the first segment; default `Timeline.first_view_ns`). Lines have at most `points`
    points."""
    t0, t1 = span_ns or timeline.first_view_ns()
    panels = GATEWAY_PANELS if timeline.server else PANELS
    words = CLIENT if timeline.server else PLAIN
    view = View(timeline, int(t0), max(int(t1), int(t0) + 1), points, words=words)
    heights = [panel.height for panel in panels]
    figure = make_subplots(rows=len(panels), cols=1, shared_xaxes=True, vertical_spacing=0.03, row_heights=heights)
    for row, panel in enumerate(panels, start=1):
        panel.draw(figure, view, row)
        _name_axis(figure, panel, row)
    add_stops(figure, view, figure.layout.yaxis.domain[0] + LABEL_ABOVE)
    _set_legends(figure, len(panels))
    _lay_out(figure, view, height, panels)
    return figure


def _name_axis(figure: go.Figure, panel: Panel, row: int) -> None:
    """Gives a panel its unit. `meta` tells the page which size it has: a vertical zoom is in that unit. A vertical zoom
    that the browser keeps ends where the unit changes."""
    axis = f"y{row if row > 1 else ''}"
    title, name = panel.title, ""
    if panel.base:
        unit = scale((trace for trace in figure.data if (trace.yaxis or "y") == axis), "y", panel.base)
        title, name = unit.title(title), unit.name
        figure.update_layout(meta={**(figure.layout.meta or {}), axis.replace("y", "yaxis", 1): unit.size})
    figure.update_yaxes(**AXIS, title_text=title, row=row, col=1, rangemode="tozero" if panel.base else "normal",
                        uirevision=f"timeline {name}")  # fmt: skip


def headline(timeline: Timeline) -> str:
    """One line: how long sending was stopped, in words and as lfp-1995's s. If it never was, the slowest span."""
    if timeline.stops:
        stops = f"{len(timeline.stops):,} stop{'s' if len(timeline.stops) != 1 else ''}"
        share = timeline.stopped_share
        if share is None:
            return f"{stops}, stopped share not analysed"
        return f"Sending stopped {readable.share(share, 3)} of the time (s = {readable.number(share, 3)}, {stops})"
    if timeline.slow_spans:
        return f"No stops. Slowest span: {between(timeline.slow_spans[0])}, {timeline.slow_spans[0].text}"
    if timeline.stopped_share is None:
        return "Stopped share not analysed"
    return "No stops, and no span much slower than the rest"


def between(visit: Stop) -> str:
    """`1.2 s to 1.9 s`, on the time axis."""
    return f"{readable.number(visit.t0_ns / 1e9)} s to {readable.number(visit.t1_ns / 1e9)} s"


def _title(timeline: Timeline) -> str:
    """The headline without the text about the slowest span, which the span's label has."""
    if timeline.stops or not timeline.slow_spans:
        return headline(timeline)
    slowest = timeline.slow_spans[0]
    return f"No stops. Slowest span: {between(slowest)}, {slowest.text.partition(':')[0]}"


def _span_text(view: View) -> str:
    """`1.2 to 1.9 s of 60 s`, with as many digits as it takes to tell the ends apart."""
    for digits in range(readable.DIGITS, 16):
        start, end = (readable.number(ns / 1e9, digits) for ns in (view.t0, view.t1))
        if start != end:
            break
    return f"{start} to {end} s of {readable.number(view.timeline.duration_ns / 1e9)} s"


def _set_legends(figure: go.Figure, panels: int) -> None:
    """Gives every panel a legend of its own, beside it."""
    names = ["legend" if number == 0 else f"legend{number + 1}" for number in range(panels)]
    axes = {"y" if number == 0 else f"y{number + 1}": number for number in range(panels)}
    for trace in figure.data:
        trace.legend = names[axes[trace.yaxis or "y"]]
    for number, name in enumerate(names):
        top = figure.layout["yaxis" if number == 0 else f"yaxis{number + 1}"].domain[1]
        figure.update_layout({name: {"x": 1.01, "y": top, "yanchor": "top", "font": {"size": 14}, "tracegroupgap": 0}})


def _lay_out(figure: go.Figure, view: View, height: int, panels: tuple[Panel, ...]) -> None:
    tl = view.timeline
    span = _span_text(view)
    note = "; ".join([span, *dict.fromkeys(view.notes)] if view.notes else [span, "every packet drawn"])
    figure.update_layout(**LAYOUT, height=height, dragmode="zoom", uirevision="timeline")
    figure.update_layout(
        title={"text": _title(tl), "x": 0, "xref": "paper", "font": {"size": 20},
               "subtitle": {"text": note, "font": {"size": 14}}},
        margin={"t": 80, "r": 20},
    )  # fmt: skip
    for row in range(1, len(panels) + 1):
        figure.update_xaxes(**AXIS, range=[view.t0 / 1e9, view.t1 / 1e9], row=row, col=1)
    figure.update_yaxes(tickformat=SEQUENCE, row=1, col=1)
    figure.update_xaxes(title_text="Time since the first segment (s)", row=len(panels), col=1)
