"""The figure of flows that share a line. One panel a direction has their rates second by second and their sum under the
line's rate. The lowest panel has Jain's index of the flows that ran during a whole second."""

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
    ways = [one for one in (seconds, seconds.back) if one]
    names = list(dict.fromkeys(flow.name for one in ways for flow in one.flows))
    rows = len(ways) + 1
    figure = make_subplots(
        rows=rows, cols=1, shared_xaxes=True, vertical_spacing=0.05, row_heights=[1.0] * len(ways) + [0.45]
    )
    for row, one in enumerate(ways, start=1):
        for flow in one.flows:
            look = style(names.index(flow.name))
            figure.add_trace(_rates(flow, look.colour, look.dash, first=row == 1), row=row, col=1)
        if len(one.flows) > 1:
            figure.add_trace(_rates(one.total, BLACK, "solid", first=row == 1), row=row, col=1)
        if one.line_bps:
            figure.add_trace(
                scatter(
                    x=one.total.t_s[[0, -1]],
                    y=[one.line_bps] * 2,
                    mode="lines",
                    showlegend=row == 1,
                    name=f"line rate ({readable.rate(one.line_bps)})",
                    line={"color": GREY, "width": 1.5, "dash": "dot"},
                    hoverinfo="skip",
                ),
                row=row,
                col=1,
            )
    unit = scale(figure.data, "y", "rate_bps")
    for row, one in enumerate(ways, start=1):
        if np.isfinite(one.jain).any():
            way = ", reverse direction" if row > 1 else ""
            figure.add_trace(
                _jain(one, f"Jain's index of the flows that run{way}", "dash" if way else "solid"), row=rows, col=1
            )
    figure.update_layout(**LAYOUT, height=300 + 260 * len(ways), uirevision="flows")
    figure.update_layout(margin={"t": 30, "r": 20}, legend={"x": 1.01, "y": 1, "font": {"size": 14}})
    figure.update_xaxes(**AXIS)
    figure.update_yaxes(**AXIS)
    for row, title in zip(range(1, rows), ("Rate", "Rate, reverse direction"), strict=False):
        figure.update_yaxes(title_text=unit.title(title), rangemode="tozero", row=row, col=1)
    figure.update_yaxes(title_text="Jain's index", range=[0, 1.05], row=rows, col=1)
    figure.update_xaxes(title_text="Time since the first flow's first octet (s)", row=rows, col=1)
    return figure


def _rates(flow: Flow, colour: str, dash: str, *, first: bool) -> dict[str, object]:
    return scatter(
        x=flow.t_s,
        y=_held(flow.bps),
        mode="lines",
        name=flow.name,
        customdata=said("bps", _held(flow.bps)),
        legendgroup=flow.name,
        showlegend=first,
        line={"color": colour, "width": 2, "shape": "hv", "dash": dash},
        hovertemplate=f"<b>{flow.name}</b><br>%{{customdata}} from %{{x:.3f}} s<extra></extra>",
    )


def _jain(one: Seconds, name: str, dash: str) -> dict[str, object]:
    return scatter(
        x=one.total.t_s,
        y=_held(one.jain),
        mode="lines",
        name=name,
        line={"color": GREY, "width": 2, "shape": "hv", "dash": dash},
        connectgaps=False,
        hovertemplate="<b>Jain's index</b> %{y:.3f} from %{x:.3f} s<extra></extra>",
    )


def _held(values: np.ndarray) -> np.ndarray:
    """The values, the last one once more: a step line needs the end of its last second."""
    return np.append(values, values[-1:])
