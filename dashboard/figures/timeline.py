"""The timeline figure (lfp-1995/fig4): Seq and Ack of both ends over time, and under it, on the same time axis, bytes
in flight with cwnd, RTT and throughput. With gateways: client, gateway in, gateway out and server, and the tunnel.

Made anew for every visible span, so that its size never depends on the capture's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard import units
from dashboard.figures.panels import add_flight, add_passage, add_rtt, add_throughput, add_tunnel
from dashboard.figures.seqack import add_seqack
from dashboard.figures.stops import add_stops
from dashboard.figures.theme import AXIS, LAYOUT
from dashboard.figures.view import CLIENT, PLAIN, View
from dashboard.timeline import Timeline

LABEL_ABOVE = 0.02  # labels of stops stand so far above the lower edge of the Seq/Ack panel
POINTS = 2000


@dataclass(frozen=True)
class Panel:
    """One row of the figure: its axis' title, its share of the height, and who draws it."""

    title: str
    height: float
    draw: Callable[[go.Figure, View, int], None]


PANELS = (
    Panel("Sequence number (bytes)", 0.5, add_seqack),
    Panel("In flight (KB)", 0.19, add_flight),
    Panel("RTT (ms)", 0.13, add_rtt),
    Panel("Rate (Mbit/s)", 0.18, add_throughput),
)
GATEWAY_PANELS = (
    Panel("Sequence number (bytes)", 0.42, add_seqack),
    Panel("In flight (KB)", 0.15, add_flight),
    Panel("Time (ms)", 0.12, add_passage),
    Panel("Rate (Mbit/s)", 0.14, add_throughput),
    Panel("Tunnel (Mbit/s)", 0.17, add_tunnel),
)


def timeline_figure(
    timeline: Timeline, span_ns: tuple[int, int] | None = None, *, points: int = POINTS, height: int = 1080
) -> go.Figure:
    """The figure for a span (ns from the first segment; default `Timeline.first_view_ns`), lines of <= `points`."""
    t0, t1 = span_ns or timeline.first_view_ns()
    panels = GATEWAY_PANELS if timeline.server else PANELS
    words = CLIENT if timeline.server else PLAIN
    view = View(timeline, int(t0), max(int(t1), int(t0) + 1), points, words=words)
    heights = [panel.height for panel in panels]
    figure = make_subplots(rows=len(panels), cols=1, shared_xaxes=True, vertical_spacing=0.03, row_heights=heights)
    for row, panel in enumerate(panels, start=1):
        panel.draw(figure, view, row)
    add_stops(figure, view, figure.layout.yaxis.domain[0] + LABEL_ABOVE)
    _set_legends(figure, len(panels))
    _lay_out(figure, view, height, panels)
    return figure


def headline(timeline: Timeline) -> str:
    """One line: how long sending was stopped, in words and as lfp-1995's s."""
    if timeline.stopped_share is None:
        return "Stopped share not analysed"
    stops = len(timeline.stops)
    facts = f"s = {timeline.stopped_share:.2f}, {stops} stop{'s' if stops != 1 else ''}"
    return f"Sending stopped {units.share(timeline.stopped_share)} of the time ({facts})"


def _set_legends(figure: go.Figure, panels: int) -> None:
    """One legend a panel, beside it."""
    names = ["legend" if number == 0 else f"legend{number + 1}" for number in range(panels)]
    axes = {"y" if number == 0 else f"y{number + 1}": number for number in range(panels)}
    for trace in figure.data:
        trace.legend = names[axes[trace.yaxis or "y"]]
    for number, name in enumerate(names):
        top = figure.layout["yaxis" if number == 0 else f"yaxis{number + 1}"].domain[1]
        figure.update_layout({name: {"x": 1.01, "y": top, "yanchor": "top", "font": {"size": 14}, "tracegroupgap": 0}})


def _lay_out(figure: go.Figure, view: View, height: int, panels: tuple[Panel, ...]) -> None:
    tl = view.timeline
    span = f"{view.t0 / 1e9:.4g} to {view.t1 / 1e9:.4g} s of {tl.duration_ns / 1e9:.4g} s"
    note = "; ".join([span, *dict.fromkeys(view.notes)] if view.notes else [span, "every packet drawn"])
    figure.update_layout(**LAYOUT, height=height, dragmode="zoom", uirevision="timeline")
    figure.update_layout(
        title={"text": headline(tl), "x": 0, "xref": "paper", "font": {"size": 20},
               "subtitle": {"text": note, "font": {"size": 14}}},
        margin={"t": 80, "r": 20},
    )  # fmt: skip
    for row, panel in enumerate(panels, start=1):
        figure.update_yaxes(**AXIS, title_text=panel.title, row=row, col=1, rangemode="tozero" if row > 1 else "normal")
        figure.update_xaxes(**AXIS, range=[view.t0 / 1e9, view.t1 / 1e9], row=row, col=1)
    figure.update_yaxes(tickformat="~s", row=1, col=1)
    figure.update_xaxes(title_text="Time since the first segment (s)", row=len(panels), col=1)
