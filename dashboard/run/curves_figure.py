"""Curves over one swept setting: joined medians, bars from minimum to maximum, trials as points, the paper's points,
and what theory says."""

from __future__ import annotations

import textwrap
from html import escape
from typing import Any

import plotly.graph_objects as go

from dashboard.core.logarithmic import axis
from dashboard.core.theme import AXIS, BLACK, GREY, INK, LAYOUT, Style, bars, style
from dashboard.core.units import ticks_named
from dashboard.run.curves import Curve, Curves, Point, Value
from dashboard.run.theory import LAWS, TheoryLine
from scenarios.plan import columns

LAW_DASHES = dict(zip(LAWS, ("dash", "longdash", "dashdot"), strict=True))
_TICK_WIDTH, _TICK_LINES = 24, 3
KEY = {"text": "filled: median, bar: minimum to maximum<br>open: single trials", "font": {"size": 14}}
WIDE = 30  # an axis whose greatest value is at least this many times its least is logarithmic
WIDE_RATIO = 5  # the same for ratios, such as losses, which are usually varied in powers of ten


def curves_figure(built: Curves) -> go.Figure:
    """The figure. An x axis is logarithmic if its values differ by much; 0 is then at its left end. If x has names,
    nothing lies between two of them, so no line joins their medians, and the series are side by side."""
    figure = go.Figure()
    for line in built.theory:
        _add_theory(figure, built, line)
    for number, curve in enumerate(built.curves):
        _add_curve(figure, built, curve, style(number))
    _add_invalid(figure, built)
    _add_reference(figure, built)
    _lay_out(figure, built)
    return figure


def _add_theory(figure: go.Figure, built: Curves, line: TheoryLine) -> None:
    """A law in grey where all series share it, otherwise in the colour and legend group of its series."""
    names = [curve.series for curve in built.curves]
    own = line.series in names and line.series
    figure.add_scatter(
        x=[_x(built, x) for x, _ in line.points],
        y=[_y(built, y) for _, y in line.points],
        mode="lines",
        name=line.law,
        legendgroup=escape(line.series) if own else None,
        line={
            "color": style(names.index(line.series)).colour if own else GREY,
            "width": 2,
            "dash": LAW_DASHES[line.law],
        },
        customdata=[f"{built.x_text(x)}: {built.y_text(y)}" for x, y in line.points],
        hovertemplate=f"{line.law}<br>{built.x_name.lower()} %{{customdata}}<extra></extra>",
    )


def _positive(built: Curves) -> list[float]:
    return [value for value in built.x_values if not isinstance(value, str) and value > 0]


def _wide(built: Curves) -> bool:
    """Whether x has amounts that differ so much that their axis is logarithmic."""
    found = _positive(built)
    least = WIDE_RATIO if built.x.endswith("_ppb") else WIDE
    return not _has_names(built) and len(found) > 1 and max(found) >= least * min(found)


def _zero(built: Curves) -> float:
    """Where a logarithmic axis shows 0: as far to the left of the least value as the next one is to its right."""
    least, next_one, *_ = _positive(built)
    return least * least / next_one


def _has_names(built: Curves) -> bool:
    """Whether x is a setting of names, such as models of loss, rather than of amounts."""
    return any(isinstance(value, str) for value in built.x_values)


def _tick(text: str) -> str:
    """A text below the x axis, in short lines; the rest of a long one is in the hover text."""
    wrapped = textwrap.wrap(text.replace(",", ", "), _TICK_WIDTH)
    return "<br>".join(wrapped[:_TICK_LINES]) + (" …" if len(wrapped) > _TICK_LINES else "")


def _x(built: Curves, value: Value) -> Value:
    if _has_names(built):
        return built.x_text(value)
    return _zero(built) if _wide(built) and not value else value


def _y(built: Curves, value: float) -> float:
    return value / built.y_unit.size


def _add_curve(figure: go.Figure, built: Curves, curve: Curve, look: Style) -> None:
    name, levels = escape(curve.series) or "measured", curve.levels.values()
    figure.add_scatter(
        x=[_x(built, x) for x in curve.levels],
        y=[_y(built, level.median) for level in levels],
        error_y=bars(
            [_y(built, level.high - level.median) for level in levels],
            [_y(built, level.median - level.low) for level in levels],
        ),
        mode="markers" if _has_names(built) else "lines+markers",
        name=name,
        legendgroup=name,
        offsetgroup=name,
        line={"color": look.colour, "width": 3, "dash": look.dash},
        marker={"color": look.colour, "size": 9, "symbol": look.symbol},
        customdata=[
            [level.trials[0], built.x_text(x), built.y_text(level.median), level.repeats]
            for x, level in curve.levels.items()
        ],
        hovertemplate=f"<b>{name}</b>, {built.x_name.lower()} %{{customdata[1]}}<br>median %{{customdata[2]}} of "
        "%{customdata[3]}<br>click opens trial %{customdata[0]}<extra></extra>",
    )
    if _repeated(curve):
        figure.add_scatter(
            x=[_x(built, point.x) for point in curve.points],
            y=[_y(built, point.y) for point in curve.points],
            mode="markers",
            name=f"{name}: single trials",
            legendgroup=name,
            showlegend=False,
            offsetgroup=name,
            marker={"color": look.colour, "size": 7, "symbol": f"{look.symbol}-open"},
            customdata=[[point.trial, _text(built, point)] for point in curve.points],
            hovertemplate=f"<b>{name}</b>, trial %{{customdata[0]}}<br>%{{customdata[1]}}<extra></extra>",
        )


def _repeated(curve: Curve) -> bool:
    return any(len(level.trials) > 1 for level in curve.levels.values())


def _text(built: Curves, point: Point) -> str:
    text = f"{built.x_name.lower()} {built.x_text(point.x)}: {built.y_text(point.y)}"
    return text + ("<br>captured: click opens its timeline" if point.captured else "")


def _add_invalid(figure: go.Figure, built: Curves) -> None:
    if not built.invalid:
        return
    facts = [[p.trial, f"{escape(name)}: {_text(built, p)}<br>{escape(p.reasons)}"] for name, p in built.invalid]
    figure.add_scatter(
        x=[_x(built, point.x) for _, point in built.invalid],
        y=[_y(built, point.y) for _, point in built.invalid],
        mode="markers",
        name="not valid (left out of the medians)",
        customdata=facts,
        marker={"color": BLACK, "size": 13, "symbol": "x-thin", "line": {"color": BLACK, "width": 2.5}},
        hovertemplate="<b>not valid</b>, trial %{customdata[0]}<br>%{customdata[1]}<extra></extra>",
    )


def _add_reference(figure: go.Figure, built: Curves) -> None:
    # a point is drawn once, even if it belongs to several series
    points = {(point.x, point.y): point for point in built.reference}.values()
    if not points:
        return
    figure.add_scatter(
        x=[_x(built, point.x) for point in points],
        y=[_y(built, point.y) for point in points],
        mode="markers",
        name=f"paper ({escape(built.paper)})",
        customdata=[f"{built.y_text(point.y)}<br>{escape(point.note)}" for point in points],
        marker={"color": INK, "size": 15, "symbol": "diamond-open", "line": {"color": INK, "width": 2.5}},
        hovertemplate="<b>paper</b>: %{customdata}<extra></extra>",
    )


def _lay_out(figure: go.Figure, built: Curves) -> None:
    values = [point.y for curve in built.curves for point in curve.points if point.y > 0]
    wide = bool(values) and max(values) >= WIDE * min(values)
    texts = [built.x_text(value) for value in built.x_values]
    order: dict[str, Any] = {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": texts,
        "tickmode": "array",
        "tickvals": texts,
        "ticktext": [_tick(escape(text)) for text in texts],
    }
    title = columns.label(built.x)
    title, labels = (title, texts) if _has_names(built) else ticks_named(title, texts)
    ticks: dict[str, Any] = {"tickvals": [_x(built, value) for value in built.x_values], "ticktext": labels}
    if _wide(built):
        ticks["type"] = "log"
        if 0 in built.x_values:
            least = _positive(built)[0]
            break_at = (least * _zero(built)) ** 0.5
            figure.add_vline(x=break_at, line={"color": GREY, "width": 1, "dash": "dot"}, layer="below")
    legend: dict[str, Any] = {"x": 1.02, "y": 1, "font": {"size": 15}}
    if any(map(_repeated, built.curves)):
        legend["title"] = KEY
    figure.update_layout(**LAYOUT, height=620, clickmode="event", legend=legend)
    figure.update_layout(margin={"t": 40, "r": 20}, scattermode="group" if _has_names(built) else None)
    y_axis = axis(_y(built, value) for value in values) if wide else {"type": "linear", "rangemode": "tozero"}
    figure.update_yaxes(**AXIS, **y_axis, title_text=built.y_unit.title(built.y_name))
    figure.update_xaxes(**AXIS, title_text=title, **(order if _has_names(built) else ticks))
