"""Heat maps over two swept settings, a panel for each series (comet-2004/fig1). All panels share one logarithmic scale
of colours, which spans a factor of ten at least: otherwise a difference of a tenth would look like a collapse. Each
cell contains its median, and under it the paper's value where the paper has one. A panel with too many cells for texts
has none; the hover text says the same."""

from __future__ import annotations

import textwrap
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard.core.logarithmic import ticks
from dashboard.core.theme import INK, LAYOUT
from dashboard.core.units import ticks_named
from dashboard.run.matrix import Axis, Matrix, Panel
from netcommon import readable
from netcommon.readable import Unit
from scenarios.plan import columns

COLOURS = "Viridis"
PANEL_PX, MARGIN_PX = 300, 110
TITLE_WIDTH = 20  # letters in a line of an upright title, which is as high as its panel
MOST_TEXTS = 20  # a panel with more rows or columns has no texts, which are 14 px high


def matrix_figure(matrix: Matrix) -> go.Figure:
    """The figure. Both axes have categories, so that 0 has a position next to logarithmic steps."""
    titles = [f"<b>{escape(panel.series) or 'measured'}</b>" for panel in matrix.panels]
    gap = 0.36 / max(len(titles), 1)
    figure = make_subplots(rows=len(titles), cols=1, subplot_titles=titles, shared_xaxes=False, vertical_spacing=gap)
    values = [cell.median for panel in matrix.panels for cell in panel.cells.values() if cell.median > 0]
    high = float(np.log10(max(values, default=10.0)))
    low = min(float(np.log10(min(values, default=1.0))), high - 1)
    unit = readable.unit(matrix.value, 10**high)
    notes = [title.to_plotly_json() for title in figure.layout.annotations]
    for number, panel in enumerate(matrix.panels, 1):
        figure.add_trace(_heat_map(matrix, panel, low, high), row=number, col=1)
        notes += _notes(matrix, panel, (low + high) / 2, unit, number)
    figure.layout.annotations = notes  # all at once: add_annotation would copy all existing ones each time
    _lay_out(figure, matrix, low, high, unit)
    return figure


def _heat_map(matrix: Matrix, panel: Panel, low: float, high: float) -> go.Heatmap:
    show = matrix.value_text
    shape = len(matrix.y.values), len(matrix.x.values)
    z, texts = np.full(shape, np.nan), np.full(shape, "", dtype=object)
    for place, cell in panel.cells.items():
        z[place] = np.log10(max(cell.median, 10**low))
        span = f"{show(cell.low)} to {show(cell.high)}, " if cell.low != cell.high else ""
        paper = f"<br>paper: {show(panel.paper[place])}" if place in panel.paper else ""
        texts[place] = f"{show(cell.median)}<br>{span}{cell.repeats}{paper}"
    trials = [
        [panel.cells[r, c].trials[:1] if (r, c) in panel.cells else [None] for c in range(shape[1])]
        for r in range(shape[0])
    ]
    return go.Heatmap(
        z=z,
        x=matrix.x.texts,
        y=matrix.y.texts,
        text=texts,
        customdata=trials,
        zmin=low,
        zmax=high,
        coloraxis="coloraxis",
        xgap=2,
        ygap=2,
        hoverongaps=False,
        name=panel.series,
        hovertemplate=f"<b>{escape(panel.series)}</b>, trial %{{customdata[0]}}<br>{matrix.x.name} %{{x}}<br>"
        f"{matrix.y.name} %{{y}}<br>%{{text}}<extra></extra>",
    )


def _notes(matrix: Matrix, panel: Panel, middle: float, unit: Unit, number: int) -> list[dict[str, Any]]:
    """The texts in the cells of panel ``number``, from 1: light on dark colours, and dark on light ones."""
    notes = list[dict[str, Any]]()
    x, y = matrix.x.texts, matrix.y.texts
    if max(len(x), len(y)) > MOST_TEXTS:
        return notes
    suffix = str(number) if number > 1 else ""
    for (row, column), cell in panel.cells.items():
        text = _short(cell.median, unit)
        if (row, column) in panel.paper:
            text += f"<br><i>paper {_short(panel.paper[row, column], unit)}</i>"
        light = cell.median <= 0 or np.log10(cell.median) < middle
        notes.append(
            {
                "x": x[column],
                "y": y[row],
                "xref": f"x{suffix}",
                "yref": f"y{suffix}",
                "text": text,
                "showarrow": False,
                "font": {"size": 14, "color": "white" if light else INK},
            }
        )
    return notes


def _short(value: float, unit: Unit) -> str:
    """A value's text without the unit, which the colour bar has."""
    return readable.number(value / unit.size, 3)


def _lay_out(figure: go.Figure, matrix: Matrix, low: float, high: float, unit: Unit) -> None:
    numbers = ticks(low, high)
    figure.update_layout(
        **LAYOUT,
        height=PANEL_PX * max(len(matrix.panels), 1) + MARGIN_PX,
        clickmode="event",
        coloraxis={
            "colorscale": COLOURS,
            "cmin": low,
            "cmax": high,
            "colorbar": {
                "title": {"text": unit.title(matrix.value_name), "side": "right"},
                "tickvals": numbers,
                "ticktext": [_short(10.0**tick, unit) for tick in numbers],
            },
        },
    )
    x_title, x_labels = _labels(matrix.x)
    y_title, y_labels = _labels(matrix.y)
    figure.update_xaxes(
        type="category", title_text=x_title, title_standoff=6, tickvals=matrix.x.texts, ticktext=x_labels
    )
    figure.update_yaxes(
        type="category",
        title_text="<br>".join(textwrap.wrap(y_title, TITLE_WIDTH)),
        tickvals=matrix.y.texts,
        ticktext=y_labels,
    )


def _labels(axis: Axis) -> tuple[str, list[str]]:
    """The title of an axis, and the labels of its values."""
    title, texts = columns.label(axis.column), [escape(text) for text in axis.texts]
    return (title, texts) if any(isinstance(value, str) for value in axis.values) else ticks_named(title, texts)
