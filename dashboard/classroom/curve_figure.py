"""The curve of the class page: throughput over the window, what theory allows, and the points measured so far."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dashboard.classroom.demonstrated import Demonstrated
from dashboard.classroom.demonstration import CHOICES
from dashboard.core.messages import Messages
from dashboard.core.theme import AXIS, BLACK, GREY, LAYOUT, style
from netcommon import readable

FONT_PX = 22


def demonstration_figure(shown: Sequence[Demonstrated], say: Messages, height: int) -> go.Figure:
    """The demonstrations of `shown` that have the same path as the last one, which gets a ring. `say`: the texts of the
    page."""
    last = shown[-1]
    same = [one for one in shown if one.path == last.path]
    figure = go.Figure()
    _add_theory(figure, last, say)
    for number, profile in enumerate(CHOICES["profile"]):
        own = sorted((one for one in same if one.setting.profile == profile), key=lambda one: one.setting.window_bytes)
        if own:
            _add_points(figure, own, str(profile), number)
    figure.add_scatter(
        x=[last.setting.window_bytes / 1024],
        y=[last.bps / 1e6],
        mode="markers",
        name=say("figure.last"),
        hoverinfo="skip",
        marker={"symbol": "circle-open", "size": 32, "color": BLACK, "line": {"width": 3}},
    )
    _lay_out(figure, say, height)
    return figure


def _add_theory(figure: go.Figure, last: Demonstrated, say: Messages) -> None:
    rtt_ns, rate = last.setting.rtt_ns, last.limits.rate_bps
    offered = [float(window) for window in CHOICES["window_bytes"]]
    least, greatest = min(offered), max(offered)
    knee = rate * rtt_ns / 8e9  # the window that fills the path
    windows = sorted([*np.geomspace(least, greatest, 100), *([knee] if least < knee < greatest else [])])
    figure.add_scatter(
        x=[window / 1024 for window in windows],
        y=[min(window * 8e9 / rtt_ns, rate) / 1e6 for window in windows],
        mode="lines",
        name=say("figure.theory"),
        line={"color": GREY, "width": 4, "dash": "dash"},
        hoverinfo="skip",
    )
    holds_kb = last.limits.holds_bytes / 1024
    figure.add_scatter(
        x=[holds_kb, holds_kb],
        y=[0, 1.1 * rate / 1e6],
        mode="lines",
        name=say("figure.holds"),
        hoverinfo="skip",
        line={"color": GREY, "width": 3, "dash": "dot"},
    )


def _add_points(figure: go.Figure, own: Sequence[Demonstrated], profile: str, number: int) -> None:
    look = style(number)
    said = [f"{readable.size(one.setting.window_bytes)}: {readable.rate(one.bps)}" for one in own]
    figure.add_scatter(
        x=[one.setting.window_bytes / 1024 for one in own],
        y=[one.bps / 1e6 for one in own],
        mode="markers",
        name=profile,
        text=said,
        hovertemplate="%{text}<extra></extra>",
        marker={"symbol": look.symbol, "size": 18, "color": look.colour},
    )


def _lay_out(figure: go.Figure, say: Messages, height: int) -> None:
    ticks = [16 * 2**power for power in range(8)]
    figure.update_layout(
        LAYOUT
        | {
            "height": height,
            "font": LAYOUT["font"] | {"size": FONT_PX},
            "margin": {"l": 90, "r": 30, "t": 20, "b": 80},
            "legend": {"orientation": "h", "y": -0.18, "font": {"size": FONT_PX - 2}},
        }
    )
    figure.update_xaxes(AXIS | {"type": "log", "tickvals": ticks, "title": {"text": say("figure.x")}})
    figure.update_yaxes(AXIS | {"rangemode": "tozero", "title": {"text": say("figure.y")}})
