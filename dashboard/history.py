"""`lfp history --plot`: one metric over all runs, as one HTML file that loads nothing from the network.

There is a panel for each scenario and kind of time, because their figures have nothing in common, and a line for each
cell with bars from its least to its greatest trial. Each run has a place of its own on the x axis, oldest first, under
the build of its gateway (or of lfp, without gateways). Rejected: time as the x axis. Ten runs of one evening and one of
last month would be two points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path

import plotly.graph_objects as go
from plotly.io import to_html

from dashboard.figures.theme import AXIS, GRAPH_CONFIG, LAYOUT, SERIES_COLOURS
from netcommon import readable
from netcommon.errors import UsageError
from scenarios.plan import cells, columns
from scenarios.run.history import Entry

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "pentagon", "star")


@dataclass(frozen=True)
class Panel:
    """The entries of one scenario in one kind of time, oldest run first."""

    scenario: str
    time: str
    entries: Sequence[Entry]


def write_plot(entries: Sequence[Entry], metric: str, file: Path) -> Path:
    """Draws the entries into ``file`` and returns its path. UsageError when it cannot be written."""
    figures = [
        to_html(_figure(panel, metric), full_html=False, include_plotlyjs=number == 0, config=GRAPH_CONFIG)
        for number, panel in enumerate(_panels(entries))
    ]
    title = f"{escape(metric)} over {len({entry.run for entry in entries})} runs"
    page = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body><h1>{title}</h1>\n{''.join(figures)}\n</body></html>\n"
    )
    temporary = file.with_name(f".{file.name}.tmp")
    try:
        temporary.write_text(page, encoding="utf-8")
        temporary.replace(file)
    except OSError as error:
        raise UsageError(f"--plot {file}: {error.strerror}") from error
    return file


def _panels(entries: Sequence[Entry]) -> list[Panel]:
    def of(entry: Entry) -> tuple[str, str]:
        return str(entry.manifest["name"]), entry.time

    return [Panel(name, time, list(found)) for (name, time), found in groupby(sorted(entries, key=of), key=of)]


def _figure(panel: Panel, metric: str) -> go.Figure:
    """The figure of a panel."""
    figure = go.Figure()
    settings = [entry.setting for entry in panel.entries]
    told = cells.telling(settings)
    names = cells.texts(settings, told)
    unit = readable.unit(metric, max((abs(entry.most) for entry in panel.entries), default=0.0))
    runs = list(dict.fromkeys(entry.run for entry in panel.entries))
    for number, (key, name) in enumerate(names.items()):
        found = [entry for entry in panel.entries if cells.key(entry.setting, told) == key]
        _add(figure, metric, unit.size, name or "all trials", found, number)
    labels = {entry.run.name: _label(entry) for entry in panel.entries}
    figure.update_layout(**LAYOUT, height=520, title_text=f"{escape(panel.scenario)}, {panel.time} time")
    figure.update_xaxes(
        **AXIS, title_text="run, by the build of its gateway", type="category", categoryorder="array",
        categoryarray=[run.name for run in runs], tickmode="array", tickvals=[run.name for run in runs],
        ticktext=[labels[run.name] for run in runs],
    )  # fmt: skip
    figure.update_yaxes(**AXIS, title_text=unit.title(columns.label(metric)), rangemode="tozero")
    return figure


def _add(figure: go.Figure, metric: str, size: float, name: str, found: Sequence[Entry], number: int) -> None:
    again, colour = divmod(number, len(SERIES_COLOURS))
    figure.add_scatter(
        x=[entry.run.name for entry in found], y=[entry.median / size for entry in found], name=escape(name),
        mode="lines+markers", line={"color": SERIES_COLOURS[colour]},
        marker={"color": SERIES_COLOURS[colour], "size": 9, "symbol": SYMBOLS[(colour + again) % len(SYMBOLS)]},
        error_y={
            "type": "data", "symmetric": False, "thickness": 1.5, "width": 5,
            "array": [(entry.most - entry.median) / size for entry in found],
            "arrayminus": [(entry.median - entry.least) / size for entry in found],
        },
        customdata=[[readable.named(metric, entry.median), entry.trials, _label(entry), entry.started, _ratio(entry)]
                    for entry in found],
        hovertemplate=f"<b>{escape(name)}</b><br>%{{x}}, %{{customdata[3]}}<br>build %{{customdata[2]}}<br>"
                      "median %{customdata[0]} of %{customdata[1]}%{customdata[4]}<extra></extra>",
    )  # fmt: skip


def _label(entry: Entry) -> str:
    return escape(entry.gateway_build or entry.build("lfp") or entry.run.name)


def _ratio(entry: Entry) -> str:
    return "" if entry.ratio is None else f", {readable.number(entry.ratio)} times the run before"
