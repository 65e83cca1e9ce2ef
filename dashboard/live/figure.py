"""The plot of a running tool: rates of the last ten minutes. It grows with each sample, and 0 s is now.

Each open page has it drawn once a second, on the machine that the tool works on. So a hover text is made once and kept,
and the figure is a plain object. Rejected: go.Figure, which takes forty times as long, because it checks every property
each time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from dashboard.core.theme import AXIS, LAYOUT, SERIES_COLOURS, scatter
from dashboard.core.units import scale
from dashboard.live.recent import Sample
from netcommon import readable

DASHES = ("solid", "dash")  # a line is known by its pattern, too
TEXTS = 4096  # more than two plots have


def live_figure(samples: Sequence[Sample], now_s: float, lines: Mapping[str, str], title: str) -> dict[str, Any]:
    """A line in bit/s for each counter of bytes in `lines`, with its name; where a sample has no rate, the line has a
    gap."""
    begun = next((number for number, sample in enumerate(samples) if sample.per_s), len(samples))
    ages_s = np.asarray([sample.at_s - now_s for sample in samples[begun:]], np.float64)
    traces = []
    for number, (counter, name) in enumerate(lines.items()):
        rates = np.asarray([8 * sample.per_s.get(counter, np.nan) for sample in samples[begun:]], np.float64)
        texts = [f"{_rate(bps)}, {_age(round(-age))}" for bps, age in zip(rates.tolist(), ages_s.tolist(), strict=True)]
        traces.append(
            scatter(
                x=ages_s,
                y=rates,
                name=name,
                mode="lines",
                text=texts,
                hovertemplate="%{text}<extra></extra>",
                line={"color": SERIES_COLOURS[number], "width": 3, "dash": DASHES[number]},
                connectgaps=False,
            )
        )
    unit = scale(traces, "y", "rate_bps")
    layout = LAYOUT | {
        "height": 420,
        "margin": {"l": 90, "r": 30, "t": 20, "b": 60},
        "showlegend": True,
        "uirevision": "live",
        "legend": {"orientation": "h", "y": 1.12},
        "xaxis": AXIS | {"title": AXIS["title"] | {"text": "Time (s); 0 is now"}},
        "yaxis": AXIS | {"rangemode": "tozero", "title": AXIS["title"] | {"text": unit.title(title)}},
    }
    return {"data": traces, "layout": layout}


def _rate(bps: float) -> str:
    return readable.NOTHING if math.isnan(bps) else _known_rate(bps)  # no nan equals another


@lru_cache(TEXTS)
def _known_rate(bps: float) -> str:
    return readable.rate(bps)


@lru_cache(TEXTS)
def _age(seconds: int) -> str:
    return f"{readable.duration(seconds * 10**9)} ago" if seconds else "now"
