"""The figure of latency and queues over time, with one panel for each that the trial has: latency of exchanges,
sojourns and octets at the bottleneck, marks and drops."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard.core.downsample import thin
from dashboard.core.theme import AXIS, GREY, LAYOUT, scatter, style
from dashboard.core.units import said, scale
from dashboard.trial.load import F64, Load

POINTS = 4000  # of a line
_HEIGHT = 230  # px of a panel
_LEGEND: dict[str, Any] = {"x": 1.01, "yanchor": "top", "font": {"size": 14}}


def load_figure(load: Load) -> go.Figure:
    """The figure; lines have at most POINTS points, and keep their extremes."""
    panels = (["latency"] if load.latencies else []) + (["sojourn", "queued"] if load.queues else [])
    if any(queue.marked.any() or queue.dropped.any() for queue in load.queues):
        panels.append("hit")
    figure = make_subplots(rows=len(panels), cols=1, shared_xaxes=True, vertical_spacing=0.04)
    for row, panel in enumerate(panels, start=1):
        traces, name, title = _PANELS[panel](load)
        legend = "legend" if row == 1 else f"legend{row}"
        figure.add_traces([trace | {"legend": legend, "showlegend": True} for trace in traces], rows=row, cols=1)
        unit = scale(figure.data[-len(traces) :], "y", name)
        figure.update_yaxes(**AXIS, title_text=unit.title(title), rangemode="tozero", row=row, col=1)
    for begin_s, end_s in load.outages_s:
        figure.add_vrect(x0=begin_s, x1=end_s, fillcolor=GREY, opacity=0.25, line_width=0)
    figure.update_layout(**LAYOUT, height=120 + _HEIGHT * len(panels), uirevision="load")
    figure.update_layout(margin={"t": 30, "r": 20})
    for row in range(1, len(panels) + 1):  # each panel has its own, at its height
        top = figure.get_subplot(row, 1).yaxis.domain[1]
        figure.update_layout({"legend" if row == 1 else f"legend{row}": _LEGEND | {"y": top}})
    figure.update_xaxes(**AXIS)
    figure.update_xaxes(title_text="Time since the transfer began (s)", row=len(panels), col=1)
    return figure


_Panel = tuple[list[dict[str, Any]], str, str]  # traces, the name whose suffix is the values' unit, the axis's title


def _latency(load: Load) -> _Panel:
    traces = [
        _line(one.name, one.t_s, one.ns, "x_ns", style(number).colour, "solid")
        for number, one in enumerate(load.latencies)
    ]
    return traces, "x_ns", "Latency"


def _queues(load: Load, columns: dict[str, str], unit: str, title: str) -> _Panel:
    """Columns of each queue (name and words), the first solid and the second dotted. No marks are no line."""
    traces = [
        _line(f"{queue.name}, {words}", queue.t_s, values, unit, _colour(number), dash)
        for number, queue in enumerate(load.queues)
        for (column, words), dash in zip(columns.items(), ("solid", "dot"), strict=True)
        if (values := getattr(queue, column)).any() or unit != "packets"
    ]
    return traces, unit, title


_SOJOURN = {"sojourn_p50_ns": "median", "sojourn_p99_ns": "99 %"}
_QUEUED = {"queued_mean_bytes": "mean", "queued_max_bytes": "largest"}
_PANELS: dict[str, Callable[[Load], _Panel]] = {
    "latency": _latency,
    "sojourn": lambda load: _queues(load, _SOJOURN, "x_ns", "Wait at the bottleneck"),
    "queued": lambda load: _queues(load, _QUEUED, "x_bytes", "Queue"),
    "hit": lambda load: _queues(load, {"marked": "marked", "dropped": "dropped"}, "packets", "Packets hit"),
}


def _colour(number: int) -> str:
    return style(number + 2).colour  # those before are of flows


def _line(name: str, t_s: F64, values: F64, unit: str, colour: str, dash: str) -> dict[str, Any]:
    known = np.flatnonzero(np.isfinite(values))
    t_ns = (t_s[known] * 1e9).astype(np.int64)
    rows = known[thin(t_ns, values[known], int(t_ns[0]), int(t_ns[-1]), POINTS)] if known.size else known
    return scatter(
        x=t_s[rows],
        y=values[rows],
        mode="lines",
        name=escape(name),
        customdata=said(unit, values[rows]),
        line={"color": colour, "width": 1.5, "dash": dash},
        hovertemplate=f"<b>{escape(name)}</b><br>%{{customdata}} at %{{x:.3f}} s<extra></extra>",
    )
