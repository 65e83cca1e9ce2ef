"""The timeline figure (lfp-1995/fig4): Seq and Ack of both ends over time, and under it, on the same time axis, bytes
in flight with cwnd, RTT and throughput.

Made anew for every visible span, so that its size never depends on the capture's.
"""

from __future__ import annotations

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard import units
from dashboard.figures.panels import add_flight, add_rtt, add_throughput
from dashboard.figures.seqack import add_seqack
from dashboard.figures.stops import add_stops
from dashboard.figures.theme import AXIS, LAYOUT
from dashboard.figures.view import View
from dashboard.timeline import Timeline

HEIGHTS = (0.5, 0.19, 0.13, 0.18)
TITLES = ("Sequence number (bytes)", "In flight (KB)", "RTT (ms)", "Rate (Mbit/s)")
LABEL_Y = 0.56  # just above the lower edge of the Seq/Ack panel
POINTS = 2000


def timeline_figure(
    timeline: Timeline, span_ns: tuple[int, int] | None = None, *, points: int = POINTS, height: int = 1080
) -> go.Figure:
    """The figure for a span (ns from the first segment; default `Timeline.first_view_ns`), lines of <= `points`."""
    t0, t1 = span_ns or timeline.first_view_ns()
    view = View(timeline, int(t0), max(int(t1), int(t0) + 1), points)
    figure = make_subplots(rows=4, cols=1, shared_xaxes=True, vertical_spacing=0.03, row_heights=list(HEIGHTS))
    add_seqack(figure, view, 1)
    add_flight(figure, view, 2)
    add_rtt(figure, view, 3)
    add_throughput(figure, view, 4)
    add_stops(figure, view, LABEL_Y)
    _set_legends(figure)
    _lay_out(figure, view, height)
    return figure


def headline(timeline: Timeline) -> str:
    """One line: how long sending was stopped, in words and as lfp-1995's s."""
    if timeline.stopped_share is None:
        return "Stopped share not analysed"
    stops = len(timeline.stops)
    facts = f"s = {timeline.stopped_share:.2f}, {stops} stop{'s' if stops != 1 else ''}"
    return f"Sending stopped {units.share(timeline.stopped_share)} of the time ({facts})"


def _set_legends(figure: go.Figure) -> None:
    """One legend a panel, beside it."""
    tops = [figure.layout[axis].domain[1] for axis in ("yaxis", "yaxis2", "yaxis3", "yaxis4")]
    axes = {"y": 0, "y2": 1, "y3": 2, "y4": 3}
    for trace in figure.data:
        number = axes[trace.yaxis or "y"]
        trace.legend = "legend" if number == 0 else f"legend{number + 1}"
    for number, top in enumerate(tops):
        name = "legend" if number == 0 else f"legend{number + 1}"
        figure.update_layout({name: {"x": 1.01, "y": top, "yanchor": "top", "font": {"size": 14}, "tracegroupgap": 0}})


def _lay_out(figure: go.Figure, view: View, height: int) -> None:
    tl = view.timeline
    span = f"{view.t0 / 1e9:.4g} to {view.t1 / 1e9:.4g} s of {tl.duration_ns / 1e9:.4g} s"
    note = "; ".join([span, *view.notes] if view.notes else [span, "every packet drawn"])
    figure.update_layout(**LAYOUT, height=height, dragmode="zoom", uirevision="timeline")
    figure.update_layout(
        title={"text": headline(tl), "x": 0, "xref": "paper", "font": {"size": 20},
               "subtitle": {"text": note, "font": {"size": 14}}},
        margin={"t": 80, "r": 20},
    )  # fmt: skip
    for row, title in enumerate(TITLES, start=1):
        figure.update_yaxes(**AXIS, title_text=title, row=row, col=1, rangemode="tozero" if row > 1 else "normal")
        figure.update_xaxes(**AXIS, range=[view.t0 / 1e9, view.t1 / 1e9], row=row, col=1)
    figure.update_yaxes(tickformat="~s", row=1, col=1)
    figure.update_xaxes(title_text="Time since the first segment (s)", row=4, col=1)
