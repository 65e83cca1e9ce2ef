"""The history of Land Speed Records: score by date, on a logarithmic axis, with a run's mark."""

from __future__ import annotations

from html import escape

import plotly.graph_objects as go

from dashboard.core.theme import AXIS, BLUE, LAYOUT, ORANGE, VERMILLION, scatter
from scenarios.certify import records

COLOURS = {"ipv4": BLUE, "ipv6": ORANGE}
NAMES = {"ipv4": "IPv4", "ipv6": "IPv6"}
DASHES = {"single": "solid", "multiple": "dot"}


def records_figure(mark: tuple[str, float], name: str) -> go.Figure:
    """All known records: each class is a line of steps. ``mark``: the date and score of a run, Tbit·m/s; a score of 0
    cannot be on a logarithmic axis and is not drawn."""
    figure = go.Figure()
    for family in COLOURS:
        known = records.load(family)
        for kind, dash in DASHES.items():
            some = [one for one in known if kind in one.classes]
            figure.add_trace(
                scatter(
                    x=[one.date for one in some],
                    y=[one.score for one in some],
                    mode="lines+markers",
                    name=f"{NAMES[family]}, {kind}",
                    line={"color": COLOURS[family], "dash": dash, "shape": "hv"},
                    customdata=[escape(one.group) for one in some],
                    hovertemplate="<b>%{y} Tbit·m/s</b>, %{x|%Y-%m-%d}<br>%{customdata}<extra></extra>",
                )
            )
    if mark[1] > 0:
        figure.add_trace(
            scatter(
                x=[mark[0]],
                y=[mark[1]],
                mode="markers",
                name=escape(name),
                marker={"color": VERMILLION, "size": 16, "symbol": "star"},
                hovertemplate="<b>%{y:.0f} Tbit·m/s</b>, this run<extra></extra>",
            )
        )
    figure.update_layout(**LAYOUT, height=560)
    figure.update_xaxes(**AXIS, title_text="Date")
    figure.update_yaxes(**AXIS, title_text="Score (Tbit·m/s)", type="log")
    return figure
