"""The look of all figures: colours that colour-blind people can tell apart (Okabe, Ito), and sizes for a projector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
TEAL = "#44AA99"  # colour of ECN's marks
INK, GREY, PALE, PAPER = "#1f2933", "#7b8794", "#e4e7eb", "#ffffff"
SERIES_COLOURS = (VERMILLION, BLUE, GREEN, PURPLE, ORANGE, SKY)
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "pentagon", "star")
DASHES = ("solid", "dash", "dot")
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
FONT_PX = 16
KB = 1024

# Double-click shows everything. There is no button that would send measurements to a server of plotly's makers.
GRAPH_CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "doubleClick": "autosize",
    "responsive": True,
    "showSendToCloud": False,
    "plotlyServerURL": "",
    "modeBarButtonsToRemove": ["sendChartToCloud", "select2d", "lasso2d", "resetScale2d"],
}

LAYOUT: dict[str, Any] = {
    "font": {"family": FONT, "size": FONT_PX, "color": INK},
    "paper_bgcolor": PAPER,
    "plot_bgcolor": PAPER,
    "hoverlabel": {"font": {"size": 15, "family": FONT}, "bgcolor": "white", "bordercolor": GREY, "align": "left"},
    "margin": {"l": 90, "r": 30, "t": 90, "b": 60},
    "hovermode": "closest",
    "separators": ". ",
}
AXIS: dict[str, Any] = {
    "showline": True,
    "linecolor": GREY,
    "linewidth": 1,
    "gridcolor": PALE,
    "zeroline": False,
    "ticks": "outside",
    "tickcolor": GREY,
    "title": {"standoff": 10},
    "exponentformat": "none",  # the axis has a unit, so ticks need no prefix such as in "600k KB"
}


def scatter(**options: Any) -> dict[str, Any]:
    """A scatter trace as plotly.js reads it: SVG, which is sharper than WebGL, needs no GPU, and is faster at the few
    thousand points that are drawn."""
    return {"type": "scatter", **options}


@dataclass(frozen=True)
class Style:
    """The look of a series. It is known by its symbol and its dash, too, where colours repeat or cannot be seen."""

    colour: str
    symbol: str
    dash: str


def style(number: int) -> Style:
    """The look of a figure's series by its number, from 0."""
    again, colour = divmod(number, len(SERIES_COLOURS))
    return Style(SERIES_COLOURS[colour], SYMBOLS[(colour + again) % len(SYMBOLS)], DASHES[again % len(DASHES)])


def bars(above: Sequence[float], below: Sequence[float]) -> dict[str, Any]:
    """Error bars of points: how far each reaches, as from a median to the greatest and to the least value."""
    return {"type": "data", "symmetric": False, "thickness": 1.5, "width": 5, "array": above, "arrayminus": below}
