"""Two runs over each other: medians with bars from minimum to maximum, and under them the difference of the medians
with its interval. The base is dashed with open marks. Values of x are evenly spaced, as in the table under the
figure."""

from __future__ import annotations

from html import escape
from statistics import median

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard.compare.sides import SidePoint, Sides
from dashboard.core.theme import AXIS, GREY, LAYOUT, bars, style
from dashboard.core.units import said, scale
from netcommon import readable

HEIGHTS = (0.64, 0.36)


def sides_figure(built: Sides) -> go.Figure:
    """The figure."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=HEIGHTS, vertical_spacing=0.04)
    for number, (name, points) in enumerate(built.series.items()):
        look = style(number)
        base_colour = GREY if len(built.series) == 1 else look.colour
        _add_side(figure, built, f"base{_of(name)}", points, False, base_colour, f"{look.symbol}-open")
        _add_side(figure, built, f"run{_of(name)}", points, True, look.colour, look.symbol)
    unit = scale(list(figure.data), "y", built.metric)
    for number, (name, points) in enumerate(built.series.items()):
        look = style(number)
        _add_difference(figure, built, f"run − base{_of(name)}", points, look.colour, look.symbol)
    figure.add_hline(y=0, line={"color": GREY, "width": 1.5, "dash": "dot"}, row=2, col=1)
    figure.update_layout(**LAYOUT, height=720, legend={"x": 1.02, "y": 1, "font": {"size": 15}})
    figure.update_layout(margin={"t": 40, "r": 20})
    order = {"type": "category", "categoryorder": "array", "categoryarray": list(built.x_texts.values())}
    figure.update_xaxes(**AXIS, **order)
    figure.update_xaxes(title_text=built.x_name, row=2, col=1)
    figure.update_yaxes(**AXIS)
    figure.update_yaxes(title_text=unit.title(built.metric_name), rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title_text="Difference (%)", row=2, col=1)
    return figure


def _of(series: str) -> str:
    return f", {escape(series)}" if series else ""


def _add_side(
    figure: go.Figure, built: Sides, name: str, points: tuple[SidePoint, ...], run: bool, colour: str, symbol: str
) -> None:
    """Draws one side of a series: `run`, or else the base."""
    places = [built.x_texts[point.x] for point in points]
    values = [point.run if run else point.base for point in points]
    medians = [median(own) for own in values]
    texts = said(built.metric, np.asarray(medians))
    counts = ["1 trial" if len(own) == 1 else f"{len(own)} trials" for own in values]
    figure.add_scatter(
        x=places,
        y=medians,
        mode="lines+markers",
        name=name,
        error_y=bars(
            [max(own) - middle for own, middle in zip(values, medians, strict=True)],
            [middle - min(own) for own, middle in zip(values, medians, strict=True)],
        ),
        line={"color": colour, "width": 3, "dash": "solid" if run else "dash"},
        marker={"color": colour, "size": 9, "symbol": symbol},
        customdata=list(zip(places, texts, counts, strict=True)),
        hovertemplate=f"<b>{name}</b>, %{{customdata[0]}}<br>"
        "median %{customdata[1]} of %{customdata[2]}<extra></extra>",
        row=1,
        col=1,
    )


def _add_difference(
    figure: go.Figure, built: Sides, name: str, points: tuple[SidePoint, ...], colour: str, symbol: str
) -> None:
    shown = [(point, 100 * point.difference) for point in points if point.difference is not None]
    places = [built.x_texts[point.x] for point, _ in shown]
    ends = [[100 * end for end in point.interval] if point.interval else [value] * 2 for point, value in shown]
    words = [
        f"95 %: {readable.number(low)} … {readable.number(high)} %" if point.interval else "no interval"
        for (point, _), (low, high) in zip(shown, ends, strict=True)
    ]
    figure.add_scatter(
        x=places,
        y=[value for _, value in shown],
        mode="markers",
        error_y=bars(
            [high - value for (_, value), (_, high) in zip(shown, ends, strict=True)],
            [value - low for (_, value), (low, _) in zip(shown, ends, strict=True)],
        ),
        marker={"color": colour, "size": 9, "symbol": symbol},
        name=name,
        showlegend=False,
        customdata=[
            [x, f"{readable.number(value)} % ({text})"]
            for x, (_, value), text in zip(places, shown, words, strict=True)
        ],
        hovertemplate=f"<b>{name}</b>, %{{customdata[0]}}<br>%{{customdata[1]}}<extra></extra>",
        row=2,
        col=1,
    )
