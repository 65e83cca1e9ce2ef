"""What a person reads on a page: the texts of Dash's components and figures, and of an HTML document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import numpy as np
import plotly.graph_objects as go
from dash_ag_grid import AgGrid

# Parts of a hover text that identify a packet or mark: time, sequence number, how many marks it stands for.
EXACT = re.compile(r"(?:at|from) %\{x:\.[36]f\} s|sent at %\{customdata\[4\]\} s|%\{(?:y|customdata\[\d\]):,\}")
PLACEHOLDER = re.compile(r"%\{(x|y|text|customdata)(?:\[(\d)\])?\}")


def hover_texts(trace: Any) -> Iterator[str]:
    """The hover texts of a trace's first, middle and last point, without the parts that identify a packet."""
    template = EXACT.sub("", trace.hovertemplate or "")
    facts = [] if trace.customdata is None else list(trace.customdata)
    if trace.type == "heatmap":
        facts, texts = [fact for row in facts for fact in row], [text for row in trace.text for text in row]
    for number in {0, len(facts) // 2, len(facts) - 1} if facts else set():

        def filled(found: re.Match[str], number: int = number) -> str:
            if found[1] != "customdata":
                assert trace.type == "heatmap", f"a raw number in {trace.hovertemplate}"  # whose x and y are texts
                return str(texts[number]) if found[1] == "text" else ""
            return str(facts[number] if found[2] is None else facts[number][int(found[2])])

        text = PLACEHOLDER.sub(filled, template)
        assert "%{" not in text, f"a number of plotly's own format in {trace.hovertemplate}"
        yield text.replace("<extra></extra>", "")


def assert_axes(figure: go.Figure, where: str) -> None:
    """Checks that every axis of amounts has a unit in which values have at most four digits before the point."""
    for trace in figure.data:
        axis = figure.layout[(getattr(trace, "yaxis", None) or "y").replace("y", "yaxis", 1)]
        values = np.asarray(trace.y if trace.type != "heatmap" else [0], np.float64)
        if axis.tickformat is None and axis.title.text and np.isfinite(values).any():
            assert np.nanmax(np.abs(values)) < 10_000, f"{where}: {trace.name} on the axis {axis.title.text}"


def texts_of_figure(figure: go.Figure) -> Iterator[str]:
    """The texts of a figure: names, titles, labels, ticks and hover texts, but not the times of single packets."""
    layout = figure.layout
    assert_axes(figure, str(layout.title.text))
    for trace in figure.data:
        yield from hover_texts(trace)
    yield from (str(trace.name) for trace in figure.data if trace.name)
    yield from (str(note.text) for note in layout.annotations)
    yield from (str(text) for text in (layout.title.text, layout.title.subtitle.text) if text)
    for axis in (layout[name] for name in layout if name.startswith(("xaxis", "yaxis"))):
        yield from (
            str(text) for text in (axis.title.text, *(axis.ticktext or ()), *(axis.categoryarray or ())) if text
        )


def texts_of_page(part: Any) -> Iterator[str]:
    if isinstance(part, list | tuple):
        for inner in part:
            yield from texts_of_page(inner)
    elif isinstance(part, str):
        yield part
    elif hasattr(part, "to_plotly_json"):
        for name in ("children", "options", "title"):
            yield from texts_of_page(getattr(part, name, None))
        if isinstance(part, AgGrid):
            yield from (str(row[column["field"]]) for row in part.rowData for column in part.columnDefs)
        if isinstance(getattr(part, "figure", None), go.Figure):
            yield from texts_of_figure(part.figure)
    elif isinstance(part, dict):
        yield from texts_of_page(part.get("label"))


class Page(HTMLParser):
    """Addresses that a browser would load, visible text outside scripts, and the number of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.text = ""
        self.tags: list[str] = []
        self._hidden = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._hidden += tag in ("script", "style")
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "data", "action", "srcset")]

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.text += data
