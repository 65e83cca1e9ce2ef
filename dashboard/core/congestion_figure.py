"""The figure of congestion controls: congestion windows over time, and under them the figures that the algorithms
report of themselves (x, y and s of lfp-1995). One trial, or several on one time axis."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard.core.congestion import Control
from dashboard.core.downsample import thin
from dashboard.core.logarithmic import axis
from dashboard.core.theme import AXIS, GREY, LAYOUT, scatter, style
from dashboard.core.units import said

SHARES = {"s"}  # words with values between 0 and 1; the others have a logarithmic axis
POINTS = 1500


def congestion_figure(controls: Sequence[Control]) -> go.Figure:
    """The figure; lines have at most POINTS points. A single trial also has its ssthresh."""
    words = list(dict.fromkeys(word for control in controls for word in control.words))
    rows = 1 + len(words)
    heights = [1.0, *([0.4] * len(words))]
    figure = make_subplots(rows=rows, cols=1, shared_xaxes=True, vertical_spacing=0.035, row_heights=heights)
    for number, control in enumerate(controls):
        look = style(number)
        _add_line(figure, control, "cwnd", control.cwnd, 1, look.colour, look.dash)
        if len(controls) == 1 and np.isfinite(control.ssthresh).any():
            _add_line(figure, control, "ssthresh", control.ssthresh, 1, GREY, "dot")
        for row, word in enumerate(words, start=2):
            if word in control.words:
                _add_line(figure, control, word, control.words[word], row, look.colour, look.dash)
    _lay_out(figure, controls, words)
    return figure


def _add_line(
    figure: go.Figure, control: Control, what: str, values: np.ndarray, row: int, colour: str, dash: str
) -> None:
    finite = np.flatnonzero(np.isfinite(values))
    t_ns = (control.t_s[finite] * 1e9).astype(np.int64)
    rows = finite[thin(t_ns, values[finite], int(t_ns[0]), int(t_ns[-1]), POINTS)]
    name = escape(control.name or f"trial {control.trial}")
    figure.add_trace(
        scatter(
            x=control.t_s[rows],
            y=values[rows],
            mode="lines",
            legendgroup=f"{name} {control.trial}",
            name=name if what == "cwnd" else what,
            showlegend=what in ("cwnd", "ssthresh"),
            line={"color": colour, "width": 2, "shape": "hv", "dash": dash},
            customdata=said(what, values[rows]),
            hovertemplate=f"<b>{name}</b><br>{what} %{{customdata}} at %{{x:.3f}} s<extra></extra>",
        ),
        row=row,
        col=1,
    )


def _lay_out(figure: go.Figure, controls: Sequence[Control], words: Sequence[str]) -> None:
    figure.update_layout(**LAYOUT, height=420 + 170 * len(words), uirevision="congestion")
    figure.update_layout(margin={"t": 30, "r": 20}, legend={"x": 1.01, "y": 1, "font": {"size": 14}})
    figure.update_xaxes(**AXIS)
    figure.update_yaxes(**AXIS)
    figure.update_yaxes(title_text="cwnd (segments)", rangemode="tozero", row=1, col=1)
    for row, word in enumerate(words, start=2):
        if word in SHARES:
            figure.update_yaxes(title_text=word, range=[0, 1], row=row, col=1)
        else:
            values = np.concatenate([control.words[word] for control in controls if word in control.words])
            figure.update_yaxes(**axis(values.tolist()), title_text=word, row=row, col=1)
    figure.update_xaxes(title_text="Time since the first sample (s)", row=1 + len(words), col=1)
