"""Throughput over the window (lfp-1995/fig3): repeats as points, joined medians, spans as bars, the paper's points, and
the path's limits (window ÷ RTT, line rate, path and queue full). Drawn in bytes and bit/s, then scaled (units.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from dashboard.core.theme import AXIS, BLACK, GREY, INK, LAYOUT, PALE, Style, bars, style
from dashboard.core.units import scale, ticks_named
from dashboard.run.sweep import THROUGHPUT, WINDOW, Curve, Level, Observation, Sweep
from netcommon import readable
from netcommon.readable import Unit

WINDOW_NAME = "Window"
TICKS = [2**power for power in range(10, 50)]  # bytes
LEGEND_RANK = 1000  # plotly's default
ENTRY_PX, AROUND_LEGEND_PX = 30, 240  # height of a legend's entry; of its title and the buttons under it
HEIGHT_PX = 620  # least height; a long legend makes the figure higher
NAME_PX = 22  # height of a region's name
KEY = {"text": "line: median, bar: minimum to maximum<br>points: single trials", "font": {"size": 14}}


def sweep_figure(sweep: Sweep, *, log_x: bool = True, switch: bool = False) -> go.Figure:
    """The figure. `switch`: it has buttons for a logarithmic or linear window axis, for pages without a server."""
    figure = go.Figure()
    _add_guides(figure, sweep, log_x)
    for number, curve in enumerate(sweep.curves):
        _add_curve(figure, curve, style(number))
    _add_invalid(figure, sweep)
    _add_reference(figure, sweep)
    window, rate = scale(figure.data, "x", WINDOW), scale(figure.data, "y", THROUGHPUT)
    _add_regions(figure, sweep, log_x, window)
    _lay_out(figure, sweep, log_x, window, rate)
    if switch:
        _add_switch(figure, sweep, log_x, window)
    return figure


def _windows(sweep: Sweep) -> list[float]:
    """The measured windows and those of the paper's points, ascending, bytes."""
    measured = {float(o.window_bytes) for curve in sweep.curves for o in curve.observations}
    return sorted(measured | {point.window_bytes for point in sweep.reference})


def _add_curve(figure: go.Figure, curve: Curve, look: Style) -> None:
    name = escape(curve.series) or "measured"
    levels = curve.levels
    figure.add_scatter(
        x=[level.window_bytes for level in levels],
        y=[level.bps.median for level in levels],
        error_y=bars(
            [level.bps.high - level.bps.median for level in levels],
            [level.bps.median - level.bps.low for level in levels],
        ),
        mode="lines",
        name=name,
        legendgroup=name,
        line={"color": look.colour, "width": 3, "dash": look.dash},
        customdata=[[level.bps.trials[0], _level_text(level)] for level in levels],
        hovertemplate=f"<b>{name}</b><br>%{{customdata[1]}}<extra></extra>",
    )
    valid = [o for o in curve.observations if o.valid]
    figure.add_scatter(
        x=[o.window_bytes for o in valid],
        y=[o.bps for o in valid],
        mode="markers",
        name=f"{name}: single trials",
        legendgroup=name,
        showlegend=False,
        marker={
            "color": look.colour,
            "size": 9,
            "symbol": look.symbol,
            "opacity": 0.75,
            "line": {"color": "white", "width": 1},
        },
        customdata=[[o.trial, _observation_text(o)] for o in valid],
        hovertemplate=f"<b>{name}</b>, trial %{{customdata[0]}}<br>%{{customdata[1]}}<extra></extra>",
    )


def _level_text(level: Level) -> str:
    median, low, high = (readable.rate(value) for value in (level.bps.median, level.bps.low, level.bps.high))
    spread = f"{low} to {high}, " if low != high else ""
    return f"window {readable.size(level.window_bytes)}: median {median}<br>{spread}{level.bps.repeats}"


def _place_text(window_bytes: float, bps: float) -> str:
    return f"{readable.size(window_bytes)}: {readable.rate(bps)}"


def _observation_text(o: Observation) -> str:
    text = f"window {readable.size(o.window_bytes)}: {readable.rate(o.bps)}"
    if o.stopped_share is not None:
        text += f"<br>sending stopped {readable.share(o.stopped_share)} of the time"
    return text + ("<br>captured: click opens its Seq/Ack timeline" if o.captured else "<br>click opens the trial")


def _add_invalid(figure: go.Figure, sweep: Sweep) -> None:
    bad = [(curve.series, o) for curve in sweep.curves for o in curve.observations if not o.valid]
    if not bad:
        return
    figure.add_scatter(
        x=[o.window_bytes for _, o in bad],
        y=[o.bps for _, o in bad],
        mode="markers",
        name="not valid (left out of the medians)",
        marker={"color": BLACK, "size": 14, "symbol": "x-thin", "line": {"color": BLACK, "width": 2.5}},
        customdata=[[o.trial, f"{escape(p)}: {_observation_text(o)}<br>{escape(o.reasons)}"] for p, o in bad],
        hovertemplate="<b>not valid</b>, trial %{customdata[0]}<br>%{customdata[1]}<extra></extra>",
    )


def _add_reference(figure: go.Figure, sweep: Sweep) -> None:
    if not sweep.reference:
        return
    figure.add_scatter(
        x=[point.window_bytes for point in sweep.reference],
        y=[point.short_term_bps for point in sweep.reference],
        mode="markers",
        name=f"paper ({escape(sweep.paper)})",
        marker={"color": INK, "size": 13, "symbol": "diamond-open", "line": {"color": INK, "width": 2}},
        customdata=[
            f"{_place_text(point.window_bytes, point.short_term_bps)}<br>{escape(point.note)}"
            for point in sweep.reference
        ],
        hovertemplate="<b>paper</b><br>window %{customdata}<extra></extra>",
    )


def _add_guides(figure: go.Figure, sweep: Sweep, log_x: bool) -> None:
    """Draws the path's limits: in grey where all series have a limit in common, otherwise in the colour and legend
    group of its series."""
    for guide in sweep.guides:
        style = _guide_style(sweep, guide.series)
        if guide.kind == "law":
            _add_law(figure, sweep, guide.value, log_x, style)
        elif guide.kind == "rate":
            _add_rate(figure, sweep, guide.value, style)
        else:
            _add_knee(figure, sweep, guide.value, style)
    for number, measured in enumerate(sweep.measured):
        style = _guide_style(sweep, measured.series if len(sweep.curves) > 1 else "")
        figure.add_scatter(
            x=[window for window, _ in measured.points],
            y=[bps for _, bps in measured.points],
            mode="markers",
            name="window ÷ measured RTT",
            showlegend=number == 0,
            legendgroup=style.group,
            legendrank=style.rank,
            marker={"symbol": "line-ew-open", "size": 18, "color": style.colour, "line": {"width": 2}},
            customdata=[_place_text(*point) for point in measured.points],
            hovertemplate=f"window ÷ measured RTT{style.of}<br>%{{customdata}}<extra></extra>",
        )


@dataclass(frozen=True)
class _Style:
    """How a limit is drawn. `of`: words for the limit's series in hover texts; empty for a common limit."""

    colour: str
    group: str | None
    of: str

    @property
    def rank(self) -> int:
        """The rank in the legend: a series' own limit comes after the series."""
        return LEGEND_RANK + (self.group is not None)


def _guide_style(sweep: Sweep, series: str) -> _Style:
    names = [curve.series for curve in sweep.curves]
    if series not in names or not series:
        return _Style(GREY, None, "")
    return _Style(style(names.index(series)).colour, escape(series), f", {escape(series)}")


def _top_bps(sweep: Sweep) -> float:
    rates = [guide.value for guide in sweep.guides if guide.kind == "rate"]
    return max([*rates, *(o.bps for curve in sweep.curves for o in curve.observations)], default=0.0)


def _add_law(figure: go.Figure, sweep: Sweep, rtt_ns: float, log_x: bool, style: _Style) -> None:
    """Draws the line of one window per round trip, up to the top of the figure."""
    low, high = _windows(sweep)[0], _windows(sweep)[-1]
    end = min(high, 1.05 * _top_bps(sweep) * rtt_ns / 8e9)
    x = np.geomspace(low, max(end, low), 50) if log_x else np.linspace(0, end, 50)
    rtt = readable.duration(rtt_ns, 3)
    figure.add_scatter(
        x=x,
        y=x * 8e9 / rtt_ns,
        mode="lines",
        line={"color": style.colour, "width": 2, "dash": "dash"},
        name=f"window ÷ RTT of the empty path ({rtt})",
        legendgroup=style.group,
        legendrank=style.rank,
        customdata=[_place_text(window, window * 8e9 / rtt_ns) for window in x],
        hovertemplate=f"one window a round trip of {rtt}{style.of}<br>%{{customdata}}<extra></extra>",
    )


def _add_rate(figure: go.Figure, sweep: Sweep, bps: float, style: _Style) -> None:
    windows = _windows(sweep)
    figure.add_scatter(
        x=[windows[0], windows[-1]],
        y=[bps] * 2,
        mode="lines",
        name=f"line rate ({readable.rate(bps)})",
        line={"color": style.colour, "width": 2, "dash": "dot"},
        legendgroup=style.group,
        legendrank=style.rank,
        hovertemplate=f"line rate {readable.rate(bps)}{style.of}<extra></extra>",
    )


def _add_knee(figure: go.Figure, sweep: Sweep, held_bytes: float, style: _Style) -> None:
    text = f"path and queue full: {readable.size(held_bytes, 3)}"
    figure.add_scatter(
        x=[held_bytes] * 30,
        y=np.linspace(0, 1.05 * _top_bps(sweep), 30),
        mode="lines",
        name=text,
        line={"color": style.colour, "width": 1.5, "dash": "dashdot"},
        legendgroup=style.group,
        legendrank=style.rank,
        hovertemplate=f"{text}{style.of}<br>rate × RTT + queue; a larger window overflows the queue<extra></extra>",
    )


def _add_regions(figure: go.Figure, sweep: Sweep, log_x: bool, window: Unit) -> None:
    windows = _windows(sweep)
    for number, region in enumerate(sweep.regions):
        low, high = max(region.low_bytes, windows[0]), min(region.high_bytes, windows[-1])
        if low >= high:
            continue
        low, high = low / window.size, high / window.size
        if number % 2 == 0:
            figure.add_shape(
                type="rect",
                xref="x",
                yref="paper",
                x0=low,
                x1=high,
                y0=0,
                y1=1,
                layer="below",
                line_width=0,
                fillcolor=PALE,
                opacity=0.45,
            )
        middle = (low * high) ** 0.5 if log_x else (low + high) / 2
        figure.add_annotation(
            x=np.log10(middle) if log_x else middle,
            xref="x",
            y=1.0,
            yref="paper",
            yanchor="bottom",
            showarrow=False,
            text=f"<b>{escape(region.label)}</b>",
            font={"color": INK},
            yshift=number % 2 * NAME_PX,  # alternating heights, so that names of narrow regions do not overlap
        )


def _lay_out(figure: go.Figure, sweep: Sweep, log_x: bool, window: Unit, rate: Unit) -> None:
    ticks, top = _ticks(sweep), _top_bps(sweep)
    repeated = any(len(level.bps.trials) > 1 for curve in sweep.curves for level in curve.levels)
    entries = sum(trace.showlegend is not False for trace in figure.data)
    figure.update_layout(
        **LAYOUT,
        height=max(HEIGHT_PX, AROUND_LEGEND_PX + ENTRY_PX * entries),
        legend={"orientation": "v", "x": 1.02, "y": 1, "font": {"size": 15}, "itemwidth": 40},
        uirevision=f"sweep-{log_x}",
        clickmode="event",
    )
    figure.update_layout(margin={"t": 50 + NAME_PX, "r": 20}, legend_title=KEY if repeated else None)
    figure.update_yaxes(**AXIS, title_text=rate.title("Throughput"), range=[0, 1.12 * top / rate.size])
    figure.update_xaxes(
        **AXIS,
        title_text=_window_title(log_x, window, ticks),
        type="log" if log_x else "linear",
        tickmode="array" if log_x else "auto",  # the page's switch changes this; there are ticks for both kinds of axis
        tickvals=[tick / window.size for tick in ticks],
        ticktext=_tick_labels(ticks)[1],
    )


def _tick_labels(ticks: Sequence[int]) -> tuple[str, list[str]]:
    """The title of a logarithmic window axis, and the labels of its ticks."""
    return ticks_named(WINDOW_NAME, [readable.size(tick) for tick in ticks])


def _window_title(log_x: bool, window: Unit, ticks: Sequence[int]) -> str:
    return _tick_labels(ticks)[0] if log_x else window.title(WINDOW_NAME)


def _ticks(sweep: Sweep) -> list[int]:
    """The ticks of a logarithmic window axis, bytes."""
    windows = _windows(sweep)
    return [tick for tick in TICKS if windows[0] <= tick <= 1.05 * windows[-1]]


def _add_switch(figure: go.Figure, sweep: Sweep, log_x: bool, window: Unit) -> None:
    """Adds buttons for the kind of axis. They move the regions' names too, whose positions are logarithms."""
    buttons = []
    for label, log in (("logarithmic window axis", True), ("linear window axis", False)):
        change: dict[str, Any] = {
            "xaxis.type": "log" if log else "linear",
            "xaxis.autorange": True,
            "xaxis.tickmode": "array" if log else "auto",
            "xaxis.title.text": _window_title(log, window, _ticks(sweep)),
        }
        for number, note in enumerate(figure.layout.annotations):
            place = float(10**note.x if log_x else note.x)
            change[f"annotations[{number}].x"] = float(np.log10(place)) if log else place
        buttons.append({"label": label, "method": "relayout", "args": [change]})
    figure.update_layout(
        updatemenus=[
            {
                "type": "buttons",
                "direction": "down",
                "x": 1.02,
                "y": 0,
                "xanchor": "left",
                "yanchor": "bottom",
                "buttons": buttons,
                "active": 0 if log_x else 1,
                "showactive": True,
            }
        ]
    )
