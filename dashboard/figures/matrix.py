"""Heat maps over two swept parameters, a panel a series (comet-2004/fig1): colour on one logarithmic scale for all, the
median written into each cell and the paper's value under it where the paper has one."""

from __future__ import annotations

from html import escape

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard.figures.theme import INK, LAYOUT
from dashboard.matrix import Matrix, Panel, show

COLOURS = "Viridis"
PANEL_PX, MARGIN_PX = 300, 110


def matrix_figure(matrix: Matrix) -> go.Figure:
    """The figure; rows of x are categories, so that 0 has its place beside the logarithmic steps."""
    titles = [f"<b>{escape(panel.series) or 'measured'}</b>" for panel in matrix.panels]
    gap = 0.36 / max(len(titles), 1)
    figure = make_subplots(rows=len(titles), cols=1, subplot_titles=titles, shared_xaxes=False, vertical_spacing=gap)
    values = [cell.median for panel in matrix.panels for cell in panel.cells.values() if cell.median > 0]
    low, high = (np.log10(min(values)), np.log10(max(values))) if values else (0.0, 1.0)
    high = max(high, low + 1e-9)
    for number, panel in enumerate(matrix.panels, 1):
        figure.add_trace(_heat_map(matrix, panel, low, high), row=number, col=1)
        for note in _notes(matrix, panel, (low + high) / 2):
            figure.add_annotation(note, row=number, col=1)
    _lay_out(figure, matrix, low, high)
    return figure


def _heat_map(matrix: Matrix, panel: Panel, low: float, high: float) -> go.Heatmap:
    shape = len(matrix.y.values), len(matrix.x.values)
    z, texts = np.full(shape, np.nan), np.full(shape, "", dtype=object)
    for place, cell in panel.cells.items():
        z[place] = np.log10(max(cell.median, 10**low))
        span = f"{show(matrix.value, cell.low)} to {show(matrix.value, cell.high)}" if len(cell.trials) > 1 else ""
        paper = f"<br>paper: {show(matrix.value, panel.paper[place])}" if place in panel.paper else ""
        texts[place] = f"{show(matrix.value, cell.median)}<br>{span or 'one trial'}{paper}"
    trials = [[panel.cells[r, c].trials[:1] if (r, c) in panel.cells else [None] for c in range(shape[1])]
              for r in range(shape[0])]  # fmt: skip
    return go.Heatmap(
        z=z, x=matrix.x.texts(), y=matrix.y.texts(), text=texts, customdata=trials, zmin=low, zmax=high,
        coloraxis="coloraxis", xgap=2, ygap=2, hoverongaps=False, name=panel.series,
        hovertemplate=f"<b>{escape(panel.series)}</b>, trial %{{customdata[0]}}<br>{matrix.x.name} %{{x}}<br>"
                      f"{matrix.y.name} %{{y}}<br>%{{text}}<extra></extra>",
    )  # fmt: skip


def _notes(matrix: Matrix, panel: Panel, middle: float) -> list[go.layout.Annotation]:
    """What stands in the cells: light on dark and dark on light."""
    notes = []
    x, y = matrix.x.texts(), matrix.y.texts()
    for (row, column), cell in panel.cells.items():
        text = _short(matrix.value, cell.median)
        if (row, column) in panel.paper:
            text += f"<br><i>paper {_short(matrix.value, panel.paper[row, column])}</i>"
        light = cell.median <= 0 or np.log10(cell.median) < middle
        notes.append(go.layout.Annotation(x=x[column], y=y[row], text=text, showarrow=False,
                                          font={"size": 14, "color": "white" if light else INK}))  # fmt: skip
    return notes


def _short(column: str, value: float) -> str:
    """Mbit/s without the unit, which the colour bar has."""
    return f"{value / 1e6:.3g}" if column.endswith("_bps") else show(column, value)


def _lay_out(figure: go.Figure, matrix: Matrix, low: float, high: float) -> None:
    powers = range(int(np.floor(low)), int(np.ceil(high)) + 1)
    unit = " (Mbit/s)" if matrix.value.endswith("_bps") else ""
    figure.update_layout(
        **LAYOUT,
        height=PANEL_PX * max(len(matrix.panels), 1) + MARGIN_PX,
        clickmode="event",
        coloraxis={
            "colorscale": COLOURS, "cmin": low, "cmax": high,
            "colorbar": {"title": {"text": matrix.value_name + unit, "side": "right"},
                         "tickvals": list(powers), "ticktext": [_short(matrix.value, 10.0**p) for p in powers]},
        },
    )  # fmt: skip
    figure.update_xaxes(type="category", title_text=matrix.x.name, title_standoff=6)
    figure.update_yaxes(type="category", title_text=matrix.y.name)
