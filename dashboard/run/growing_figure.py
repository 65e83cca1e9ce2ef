"""The growing timeline of a trial that runs: sent and acknowledged data, goodput, unacknowledged data and
congestion window, and round-trip time of its connections, one under the other on one time axis.

Each open page has it drawn twice a second on the machine that measures, so it is a plain object (live/figure.py) of at
most `POINTS` points a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

import numpy as np

from dashboard.core.downsample import thin
from dashboard.core.theme import AXIS, BLACK, LAYOUT, SERIES_COLOURS, scatter
from dashboard.core.units import said, scale
from dashboard.run.under_way import F64, Grown
from netcommon import readable

POINTS, MARKS = 600, 150
MOST = len(SERIES_COLOURS)
PANELS = (("Sequence", "seq_bytes"), ("Goodput", "rate_bps"), ("Unacked, cwnd", "held_bytes"), ("RTT", "rtt_ns"))
_GAP = 0.04


def growing_figure(connections: Sequence[Grown]) -> dict[str, Any]:
    """The figure of at most `MOST` connections, of those with most data."""
    shown = connections[:MOST]
    layout = LAYOUT | {
        "height": 900,
        "margin": {"l": 110, "r": 30, "t": 20, "b": 60},
        "uirevision": "growing",
        "showlegend": len(shown) > 1,
        "legend": {"orientation": "h", "y": 1.06},
        "xaxis": AXIS | {"anchor": "y4", "title": AXIS["title"] | {"text": "Time since the first sample (s)"}},
    }
    traces, high = [], (1 + _GAP) / len(PANELS)
    for number, (title, name) in enumerate(PANELS, start=1):
        coloured = zip(shown, SERIES_COLOURS, strict=False)
        own = [trace for one, colour in coloured for trace in _lines(one, number, colour)]
        top = 1 - (number - 1) * high
        text = scale(own, "y", name).title(title)
        layout[f"yaxis{number if number > 1 else ''}"] = AXIS | {
            "domain": [max(top - high + _GAP, 0), top],
            "rangemode": "tozero",
            "title": AXIS["title"] | {"text": text},
        }
        traces += own
    return {"data": traces, "layout": layout}


def _lines(grown: Grown, panel: int, colour: str) -> Iterator[dict[str, Any]]:
    """The lines of a connection in a panel."""
    figures = grown.figures
    if panel == 1:
        yield _line(grown, "sent", figures["sent_bytes"], panel, colour, "dot")
        yield _line(grown, "acknowledged", figures["acked_bytes"], panel, colour)
        yield _marks(grown)
    elif panel == 2:
        yield _line(grown, "goodput", grown.goodput_bps(), panel, colour)
    elif panel == 3:
        yield _line(grown, "unacknowledged", figures["sent_bytes"] - figures["acked_bytes"], panel, colour)
        yield _line(grown, "cwnd", figures["cwnd_bytes"], panel, colour, "dot")
    else:
        yield _line(grown, "RTT", figures["rtt_ns"], panel, colour)


def _marks(grown: Grown) -> dict[str, Any]:
    """A mark at each sample that has more retransmissions than the sample before."""
    again = np.diff(grown.figures["retransmits"], prepend=grown.figures["retransmits"][:1])
    rows = np.flatnonzero(again > 0)
    rows = rows[thin((grown.t_s[rows] * 1e9).astype(np.int64), again[rows], 0, 1 << 62, MARKS)]
    return scatter(
        x=grown.t_s[rows],
        y=grown.figures["acked_bytes"][rows],
        mode="markers",
        legendgroup=grown.name,
        showlegend=False,
        xaxis="x",
        yaxis="y",
        name=escape(grown.name),
        marker={"color": BLACK, "size": 9, "symbol": "x-thin-open"},
        customdata=[readable.count(count) for count in again[rows].astype(int).tolist()],
        hovertemplate=f"<b>{escape(grown.name)}</b><br>sent again: %{{customdata}} at %{{x:.2f}} s<extra></extra>",
    )


def _line(grown: Grown, what: str, values: F64, panel: int, colour: str, dash: str = "solid") -> dict[str, Any]:
    known = np.flatnonzero(np.isfinite(values))
    t_ns = (grown.t_s[known] * 1e9).astype(np.int64)
    rows = known[thin(t_ns, values[known], int(t_ns[0]), int(t_ns[-1]), POINTS)] if known.size else known
    unit = {1: "x_bytes", 2: "x_bps", 3: "x_bytes", 4: "x_ns"}[panel]
    return scatter(
        x=grown.t_s[rows],
        y=values[rows],
        mode="lines",
        name=escape(grown.name),
        legendgroup=grown.name,
        showlegend=what == "acknowledged",
        yaxis=f"y{panel if panel > 1 else ''}",
        xaxis="x",
        line={"color": colour, "width": 3 if dash == "solid" else 2, "dash": dash},
        customdata=said(unit, values[rows]),
        hovertemplate=f"<b>{escape(grown.name)}</b><br>{what} %{{customdata}} at %{{x:.2f}} s<extra></extra>",
    )
