"""The figure of a metric over runs: a line for each cell with bars from its least to its greatest trial.

Each run has a position of its own on the x axis, oldest first, under the build of its gateway (or of lfp, without
gateways). There is a panel for each scenario and kind of time, because their figures have nothing in common. Rejected:
time as the x axis. Ten runs of one evening and one of last month would be two points.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

import plotly.graph_objects as go

from dashboard.core.theme import AXIS, LAYOUT, bars, style
from netcommon import readable
from scenarios.plan import cells, columns
from scenarios.run.history import Entry

HEIGHT_PX, AROUND_PX, ENTRY_PX = 520, 190, 24  # least height; around the legend; an entry: it must not scroll


@dataclass(frozen=True)
class Panel:
    """The entries of one scenario in one kind of time, oldest run first."""

    scenario: str
    time: str
    entries: Sequence[Entry]


def panels(entries: Sequence[Entry]) -> list[Panel]:
    """The panels of these entries, which are in the order of their runs."""

    def of(entry: Entry) -> tuple[str, str]:
        return str(entry.manifest["name"]), entry.time

    return [Panel(name, time, list(found)) for (name, time), found in groupby(sorted(entries, key=of), key=of)]


def panel_figure(panel: Panel, metric: str) -> go.Figure:
    """The figure of a panel."""
    figure = go.Figure()
    settings = [entry.setting for entry in panel.entries]
    factors = cells.telling(settings)
    names = cells.texts(settings, factors)
    unit = readable.unit(metric, max((abs(entry.most) for entry in panel.entries), default=0.0))
    runs = list(dict.fromkeys(entry.run for entry in panel.entries))
    for number, (key, name) in enumerate(names.items()):
        found = [entry for entry in panel.entries if cells.key(entry.setting, factors) == key]
        _add(figure, metric, unit.size, name or "all trials", found, number)
    labels = _ticks(panel.entries)
    figure.update_layout(
        **LAYOUT,
        height=max(HEIGHT_PX, AROUND_PX + ENTRY_PX * len(names)),
        title_text=f"{escape(panel.scenario)}, {panel.time} time",
    )
    figure.update_xaxes(
        **AXIS,
        title_text="Run, by the build of its gateway",
        type="category",
        categoryorder="array",
        categoryarray=[run.name for run in runs],
        tickmode="array",
        tickvals=[run.name for run in runs],
        ticktext=[labels[run.name] for run in runs],
    )
    figure.update_yaxes(**AXIS, title_text=unit.title(columns.label(metric)), rangemode="tozero")
    return figure


def _add(figure: go.Figure, metric: str, size: float, name: str, entries: Sequence[Entry], number: int) -> None:
    look = style(number)
    figure.add_scatter(
        x=[entry.run.name for entry in entries],
        y=[entry.median / size for entry in entries],
        name=escape(name),
        mode="lines+markers",
        line={"color": look.colour, "dash": look.dash},
        marker={"color": look.colour, "size": 9, "symbol": look.symbol},
        error_y=bars(
            [(entry.most - entry.median) / size for entry in entries],
            [(entry.median - entry.least) / size for entry in entries],
        ),
        customdata=[
            [
                readable.named(metric, entry.median),
                entry.trials,
                _label(entry),
                entry.started,
                _ratio(entry),
                escape(entry.run.name),
            ]
            for entry in entries
        ],
        hovertemplate=f"<b>{escape(name)}</b><br>%{{customdata[5]}}, %{{customdata[3]}}<br>build %{{customdata[2]}}<br>"
        "median %{customdata[0]} of %{customdata[1]}%{customdata[4]}<extra></extra>",
    )


def _ticks(entries: Sequence[Entry]) -> dict[str, str]:
    """The label of each run. Runs of one build are told apart by when they started, and then by their names."""
    labels = {entry.run.name: _label(entry) for entry in entries}
    for more in (
        {entry.run.name: entry.started[:16].replace("T", " ") for entry in entries},
        {entry.run.name: escape(entry.run.name) for entry in entries},
    ):
        often = Counter(labels.values())
        labels = {run: f"{text}<br>{more[run]}" if often[text] > 1 else text for run, text in labels.items()}
    return labels


def _label(entry: Entry) -> str:
    return escape(entry.gateway_build or entry.build("lfp") or entry.run.name)


def _ratio(entry: Entry) -> str:
    return "" if entry.ratio is None else f"<br>ratio to previous run: {entry.against_before}"
