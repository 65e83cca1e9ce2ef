"""The figure of flows that share a line: their rates second by second, all together under the line's rate, and below
them Jain's index of those that ran all through a second."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard.core.theme import AXIS, BLACK, GREY, LAYOUT, scatter, style
from dashboard.core.units import said, scale
from dashboard.trial.flows import Flow, Seconds
from netcommon import readable


def flows_figure(seconds: Seconds) -> go.Figure:
    """The figure, in the colours of the figure of congestion windows."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.05, row_heights=[1.0, 0.45])
    for number, flow in enumerate(seconds.flows):
        look = style(number)
        figure.add_trace(_rates(flow, look.colour, look.dash), row=1, col=1)
    figure.add_trace(_rates(seconds.total, BLACK, "solid"), row=1, col=1)
    ends = seconds.total.t_s[[0, -1]]
    if seconds.line_bps:
        figure.add_trace(
            scatter(
                x=ends,
                y=[seconds.line_bps] * 2,
                mode="lines",
                name=f"line rate ({readable.rate(seconds.line_bps)})",
                line={"color": GREY, "width": 1.5, "dash": "dot"},
                hoverinfo="skip",
            ),
            row=1,
            col=1,
        )
    unit = scale(figure.data, "y", "rate_bps")
    figure.add_trace(
        scatter(
            x=seconds.total.t_s,
            y=_held(seconds.jain),
            mode="lines",
            name="Jain's index of the flows that run",
            line={"color": GREY, "width": 2, "shape": "hv"},
            connectgaps=False,
            hovertemplate="<b>Jain's index</b> %{y:.3f} from %{x:.3f} s<extra></extra>",
        ),
        row=2,
        col=1,
    )
    figure.update_layout(**LAYOUT, height=560, uirevision="flows")
    figure.update_layout(margin={"t": 30, "r": 20}, legend={"x": 1.01, "y": 1, "font": {"size": 14}})
    figure.update_xaxes(**AXIS)
    figure.update_yaxes(**AXIS)
    figure.update_yaxes(title_text=unit.title("Rate"), rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title_text="Jain's index", range=[0, 1.05], row=2, col=1)
    figure.update_xaxes(title_text="Time since the first flow's first octet (s)", row=2, col=1)
    return figure


def _rates(flow: Flow, colour: str, dash: str) -> dict[str, object]:
    return scatter(
        x=flow.t_s,
        y=_held(flow.bps),
        mode="lines",
        name=flow.name,
        customdata=said("bps", _held(flow.bps)),
        line={"color": colour, "width": 2, "shape": "hv", "dash": dash},
        hovertemplate=f"<b>{flow.name}</b><br>%{{customdata}} from %{{x:.3f}} s<extra></extra>",
    )


def _held(values: np.ndarray) -> np.ndarray:
    """The values, the last one once more: a step line needs the end of its last second."""
    return np.append(values, values[-1:])
