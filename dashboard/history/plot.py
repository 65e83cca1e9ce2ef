"""`lfp history --plot`: one metric over all runs, as one HTML file that loads nothing from the network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from plotly.io import to_html

from dashboard.core.theme import GRAPH_CONFIG
from dashboard.history.figure import panel_figure, panels
from netcommon.errors import UsageError
from netcommon.strangers import write_text
from scenarios.run.history import Entry


def write_plot(entries: Sequence[Entry], metric: str, file: Path) -> Path:
    """Draws the entries into ``file`` and returns its path. UsageError when it cannot be written."""
    figures = [
        to_html(panel_figure(panel, metric), full_html=False, include_plotlyjs=number == 0, config=GRAPH_CONFIG)
        for number, panel in enumerate(panels(entries))
    ]
    title = f"{escape(metric)} over {len({entry.run for entry in entries})} runs"
    page = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body><h1>{title}</h1>\n{''.join(figures)}\n</body></html>\n"
    )
    try:
        write_text(file, page)
    except OSError as error:
        raise UsageError(f"--plot {file}: {error.strerror}") from error
    return file
