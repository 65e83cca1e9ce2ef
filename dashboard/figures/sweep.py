"""Throughput against window (lfp-1995/fig3): repeats as points, medians joined, spans as bars, the paper's points,
and what the path allows (window ÷ RTT, line rate, path and queue full)."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from dashboard import units
from dashboard.figures.theme import AXIS, BLACK, GREY, INK, KB, LAYOUT, PALE, SERIES_COLOURS
from dashboard.sweep import Curve, Level, Observation, Sweep

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "pentagon", "star")
DASHES = ("solid", "dash", "dot")  # of the seventh curve on, whose colours come again
MBIT = 1e6
LEGEND_TITLE = {"text": "line: median, bar: least to greatest<br>points: single trials", "font": {"size": 14}}


def sweep_figure(sweep: Sweep, *, log_x: bool = True, switch: bool = False, height: int = 620) -> go.Figure:
    """The figure. `switch`: with buttons in it for a logarithmic or linear window axis (for pages without a server)."""
    figure = go.Figure()
    _add_regions(figure, sweep, log_x)
    _add_physics(figure, sweep, log_x)
    for number, curve in enumerate(sweep.curves):
        again, colour = divmod(number, len(SERIES_COLOURS))
        _add_curve(figure, curve, SERIES_COLOURS[colour], SYMBOLS[(colour + again) % len(SYMBOLS)], DASHES[again % 3])
    _add_invalid(figure, sweep)
    _add_reference(figure, sweep)
    _lay_out(figure, sweep, log_x, height)
    if switch:
        _add_switch(figure, log_x)
    return figure


def _windows_kb(sweep: Sweep) -> list[float]:
    """Windows measured and of the paper's points, ascending, KB."""
    measured = {o.window_bytes / KB for curve in sweep.curves for o in curve.observations}
    return sorted(measured | {point.window_bytes / KB for point in sweep.reference})


def _add_curve(figure: go.Figure, curve: Curve, colour: str, symbol: str, dash: str) -> None:
    name = escape(curve.series) or "measured"
    levels = curve.levels
    figure.add_scatter(
        x=[level.window_bytes / KB for level in levels],
        y=[level.median_bps / MBIT for level in levels],
        error_y={
            "type": "data", "symmetric": False, "thickness": 1.5, "width": 5,
            "array": [(level.high_bps - level.median_bps) / MBIT for level in levels],
            "arrayminus": [(level.median_bps - level.low_bps) / MBIT for level in levels],
        },
        mode="lines", name=name, legendgroup=name,
        line={"color": colour, "width": 3, "dash": dash},
        customdata=[[_trial_of(curve, level), _level_text(level)] for level in levels],
        hovertemplate=f"<b>{name}</b><br>%{{customdata[1]}}<extra></extra>",
    )  # fmt: skip
    valid = [o for o in curve.observations if o.valid]
    figure.add_scatter(
        x=[o.window_bytes / KB for o in valid],
        y=[o.bps / MBIT for o in valid],
        mode="markers", name=f"{name}: single trials", legendgroup=name, showlegend=False,
        marker={"color": colour, "size": 9, "symbol": symbol, "opacity": 0.75, "line": {"color": "white", "width": 1}},
        customdata=[[o.trial, _observation_text(o)] for o in valid],
        hovertemplate=f"<b>{name}</b>, trial %{{customdata[0]}}<br>%{{customdata[1]}}<extra></extra>",
    )  # fmt: skip


def _trial_of(curve: Curve, level: Level) -> int:
    """The trial that a click on a median opens: a captured one where there is one."""
    own = [o for o in curve.observations if o.valid and o.window_bytes == level.window_bytes]
    return max(own, key=lambda o: o.captured).trial


def _level_text(level: Level) -> str:
    spread = f"{units.rate(level.low_bps)} to {units.rate(level.high_bps)}"
    repeats = f"{level.count} repeat{'s' if level.count != 1 else ''}"
    return f"window {units.size(level.window_bytes)}: median {units.rate(level.median_bps)}<br>{spread}, {repeats}"


def _observation_text(o: Observation) -> str:
    text = f"window {units.size(o.window_bytes)}: {units.rate(o.bps)}"
    if o.stopped_share is not None:
        text += f"<br>sending stopped {units.share(o.stopped_share)} of the time"
    return text + ("<br>captured: click opens its Seq/Ack timeline" if o.captured else "<br>click opens the trial")


def _add_invalid(figure: go.Figure, sweep: Sweep) -> None:
    bad = [(curve.series, o) for curve in sweep.curves for o in curve.observations if not o.valid]
    if not bad:
        return
    figure.add_scatter(
        x=[o.window_bytes / KB for _, o in bad],
        y=[o.bps / MBIT for _, o in bad],
        mode="markers", name="not valid (left out of the medians)",
        marker={"color": BLACK, "size": 14, "symbol": "x-thin", "line": {"color": BLACK, "width": 2.5}},
        customdata=[[o.trial, f"{escape(p)}: {_observation_text(o)}<br>{escape(o.reasons)}"] for p, o in bad],
        hovertemplate="<b>not valid</b>, trial %{customdata[0]}<br>%{customdata[1]}<extra></extra>",
    )  # fmt: skip


def _add_reference(figure: go.Figure, sweep: Sweep) -> None:
    if not sweep.reference:
        return
    figure.add_scatter(
        x=[point.window_bytes / KB for point in sweep.reference],
        y=[point.short_term_bps / MBIT for point in sweep.reference],
        mode="markers", name=f"paper ({escape(sweep.paper)})",
        marker={"color": INK, "size": 13, "symbol": "diamond-open", "line": {"color": INK, "width": 2}},
        customdata=[escape(point.note) for point in sweep.reference],
        hovertemplate="<b>paper</b><br>window %{x:.4g} KB: %{y:.3g} Mbit/s<br>%{customdata}<extra></extra>",
    )  # fmt: skip


def _add_physics(figure: go.Figure, sweep: Sweep, log_x: bool) -> None:
    physics = sweep.physics
    if physics is None:
        return
    low, high = _windows_kb(sweep)[0], _windows_kb(sweep)[-1]
    top = 1.12 * physics.rate_bps
    reach = min(high, top * physics.rtt_ns / 8e9 / KB)
    x = np.geomspace(low, reach, 60)
    rtt = units.duration(physics.rtt_ns)
    dashed = {"color": GREY, "width": 2, "dash": "dash"}
    figure.add_scatter(
        x=x, y=x * KB * 8e9 / physics.rtt_ns / MBIT, mode="lines", line=dashed,
        name=f"window ÷ RTT of the empty path ({rtt})",
        hovertemplate=f"one window a round trip of {rtt}<br>%{{x:.4g}} KB: %{{y:.3g}} Mbit/s<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=[window / KB for window, _ in physics.law], y=[bps / MBIT for _, bps in physics.law], mode="markers",
        marker={"symbol": "line-ew-open", "size": 18, "color": INK, "line": {"width": 2}}, name="window ÷ measured RTT",
        hovertemplate="window ÷ measured RTT<br>%{x:.4g} KB: %{y:.3g} Mbit/s<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=[low, high], y=[physics.rate_bps / MBIT] * 2, mode="lines",
        line=dashed | {"dash": "dot"}, name=f"line rate ({units.rate(physics.rate_bps)})",
        hovertemplate=f"line rate {units.rate(physics.rate_bps)}<extra></extra>",
    )  # fmt: skip
    knee = physics.knee_bytes / KB
    text = f"path and queue full: {units.size(round(physics.knee_bytes / KB) * KB)}"
    figure.add_scatter(
        x=[knee] * 30, y=np.linspace(0, top / MBIT, 30), mode="lines", line=dashed | {"dash": "dashdot", "width": 1.5},
        name=text, hovertemplate=f"{text}<br>rate × RTT + queue; a larger window overflows the queue<extra></extra>",
    )  # fmt: skip


def _add_regions(figure: go.Figure, sweep: Sweep, log_x: bool) -> None:
    windows = _windows_kb(sweep)
    for number, region in enumerate(sweep.regions):
        low, high = max(region.low_bytes / KB, windows[0]), min(region.high_bytes / KB, windows[-1])
        if low >= high:
            continue
        if number % 2 == 0:
            figure.add_shape(type="rect", xref="x", yref="paper", x0=low, x1=high, y0=0, y1=1, layer="below",
                             line_width=0, fillcolor=PALE, opacity=0.45)  # fmt: skip
        middle = (low * high) ** 0.5 if log_x else (low + high) / 2
        figure.add_annotation(
            x=np.log10(middle) if log_x else middle, xref="x", y=1.0, yref="paper", yanchor="bottom",
            showarrow=False, text=f"<b>{escape(region.label)}</b>",
            font={"color": INK},
        )  # fmt: skip


def _lay_out(figure: go.Figure, sweep: Sweep, log_x: bool, height: int) -> None:
    top = max((o.bps for curve in sweep.curves for o in curve.observations), default=0.0)
    if sweep.physics:
        top = max(top, sweep.physics.rate_bps)
    ticks = [2**power for power in range(0, 21) if _windows_kb(sweep)[0] <= 2**power <= 1.05 * _windows_kb(sweep)[-1]]
    figure.update_layout(
        **LAYOUT,
        height=height,
        legend={"orientation": "v", "x": 1.02, "y": 1, "font": {"size": 15}, "itemwidth": 40, "title": LEGEND_TITLE},
        uirevision=f"sweep-{log_x}",
        clickmode="event",
    )
    figure.update_layout(margin={"t": 50, "r": 20})
    figure.update_yaxes(**AXIS, title_text="Throughput (Mbit/s)", range=[0, 1.12 * top / MBIT])
    figure.update_xaxes(
        **AXIS, title_text="Window (KB, 1 KB = 1024 bytes)", type="log" if log_x else "linear",
        tickvals=ticks if log_x else None, ticktext=[str(tick) for tick in ticks] if log_x else None,
    )  # fmt: skip


def _add_switch(figure: go.Figure, log_x: bool) -> None:
    """Buttons for the kind of axis; region names move with it (annotations stand at logarithms)."""
    buttons = []
    for label, log in (("logarithmic window axis", True), ("linear window axis", False)):
        change: dict[str, Any] = {"xaxis.type": "log" if log else "linear", "xaxis.autorange": True,
                  "xaxis.tickmode": "array" if log else "auto"}  # fmt: skip
        for number, note in enumerate(figure.layout.annotations):
            kb = float(10**note.x if log_x else note.x)
            change[f"annotations[{number}].x"] = float(np.log10(kb)) if log else kb
        buttons.append({"label": label, "method": "relayout", "args": [change]})
    figure.update_layout(
        updatemenus=[{"type": "buttons", "direction": "down", "x": 1.02, "y": 0, "xanchor": "left", "yanchor": "bottom",
                      "buttons": buttons, "active": 0 if log_x else 1, "showactive": True}]
    )  # fmt: skip
