"""The figure of latencies by setting, after Flent's: a box for each setting, and their cumulative distributions."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard.core.logarithmic import axis
from dashboard.core.theme import AXIS, LAYOUT, scatter, style
from dashboard.core.units import said
from dashboard.run.latency import QUANTILES, Setting
from netcommon import readable

WIDE = 30  # an axis whose greatest value is at least this many times its least is logarithmic


def latency_figure(settings: Sequence[Setting]) -> go.Figure:
    """The figure: boxes on the left, cumulative distributions on the right, each with an axis of latencies."""
    unit = readable.unit("x_ns", max(one.at(1) for one in settings))
    figure = make_subplots(rows=1, cols=2, column_widths=[0.45, 0.55], horizontal_spacing=0.12)
    for number, one in enumerate(settings):
        look, name, took = style(number), escape(one.name), said("x_ns", one.ns)
        texts = [f"{readable.share(share)} took at most {text}" for share, text in zip(QUANTILES, took, strict=True)]
        quarter, half, rest, low, high = (one.at(share) / unit.size for share in (0.25, 0.5, 0.75, 0.01, 0.99))
        figure.add_trace(
            go.Box(
                x=[name],
                q1=[quarter],
                median=[half],
                q3=[rest],
                lowerfence=[low],
                upperfence=[high],
                name=name,
                legendgroup=name,
                showlegend=False,
                line={"color": look.colour},
                boxpoints=False,
            ),
            row=1,
            col=1,
        )
        figure.add_trace(
            scatter(
                x=one.ns / unit.size,
                y=QUANTILES,
                mode="lines",
                name=name,
                legendgroup=name,
                line={"color": look.colour, "width": 2, "dash": look.dash, "shape": "vh"},
                customdata=texts,
                hovertemplate=f"<b>{name}</b><br>%{{customdata}}<extra></extra>",
            ),
            row=1,
            col=2,
        )
    values = [one.at(share) / unit.size for one in settings for share in (0.01, 1)]
    wide = max(values) >= WIDE * min(value for value in values if value > 0)
    scaled = axis(values) if wide else {"rangemode": "tozero"}
    figure.update_layout(**LAYOUT, height=560, legend={"x": 1.01, "y": 1, "font": {"size": 14}})
    figure.update_layout(margin={"t": 30, "r": 20})
    figure.update_yaxes(**AXIS, **scaled, title_text=unit.title("Latency"), row=1, col=1)
    figure.update_xaxes(**AXIS, showticklabels=len(settings) <= 4, row=1, col=1)
    figure.update_xaxes(**AXIS, **scaled, title_text=unit.title("Latency"), row=1, col=2)
    figure.update_yaxes(**AXIS, title_text="Share of the exchanges", range=[0, 1.01], row=1, col=2)
    return figure
