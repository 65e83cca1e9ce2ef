"""The plot of a running tool: rates of the last ten minutes. It grows with each sample, and 0 s is now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from dashboard.figures.theme import AXIS, LAYOUT, SERIES_COLOURS
from dashboard.figures.units import said, scale
from dashboard.live.recent import Sample
from netcommon import readable

DASHES = ("solid", "dash")  # a line is known by its pattern, too


def live_figure(samples: Sequence[Sample], now_s: float, lines: Mapping[str, str], title: str) -> go.Figure:
    """A line in bit/s for each counter of bytes in `lines`, with its name; where a sample has no rate, the line has a
    gap."""
    begun = next((number for number, sample in enumerate(samples) if sample.per_s), len(samples))
    ages_s = np.asarray([sample.at_s - now_s for sample in samples[begun:]], np.float64)
    times = [f"{readable.duration(-1e9 * age)} ago" for age in ages_s]
    figure = go.Figure()
    for number, (counter, name) in enumerate(lines.items()):
        rates = np.asarray([8 * sample.per_s.get(counter, np.nan) for sample in samples[begun:]], np.float64)
        texts = [f"{rate}, {time}" for rate, time in zip(said("rate_bps", rates), times, strict=True)]
        figure.add_scatter(
            x=ages_s, y=rates, name=name, mode="lines", text=texts, hovertemplate="%{text}<extra></extra>",
            line={"color": SERIES_COLOURS[number], "width": 3, "dash": DASHES[number]}, connectgaps=False,
        )  # fmt: skip
    unit = scale(figure.data, "y", "rate_bps")
    figure.update_layout(LAYOUT | {
        "height": 420, "margin": {"l": 90, "r": 30, "t": 20, "b": 60}, "showlegend": True, "uirevision": "live",
        "legend": {"orientation": "h", "y": 1.12},
    })  # fmt: skip
    figure.update_xaxes(AXIS | {"title": {"text": "Time (s); 0 is now"}})
    figure.update_yaxes(AXIS | {"rangemode": "tozero", "title": {"text": unit.title(title)}})
    return figure
