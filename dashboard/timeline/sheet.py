"""A figure of panels over each other on one time axis, as plain values: what plotly.js reads, without plotly's objects.

The panels share one x axis of plotly's. With an x axis for each panel, all moving together, a zoom took a quarter
longer.

Every zoom makes the figure again. Plotly's objects check and copy each value several times, which took more than half
of a zoom's time. `plain` is for a browser, with arrays as base64; `figure` is for everything else. Hover texts of lines
take longer than all else that a zoom needs, so a browser gets them (`hover`) once it has drawn.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

Trace = dict[str, Any]
GAP = 0.03  # space between panels, as a share of the figure's height
NUMBERS = "linear"  # without a type plotly.js looks through all data for dates and names


@dataclass(frozen=True)
class Later:
    """The hover facts of a trace's `size` points, made when they are asked for."""

    size: int
    make: Callable[[], np.ndarray[Any, Any]]


class Sheet:
    """Traces, and a layout with one `xaxis`, and from the top `yaxis`, `yaxis2`, …"""

    def __init__(self, heights: Sequence[float]) -> None:
        self.rows = len(heights)
        self.data: list[Trace] = []
        self.layout: dict[str, Any] = {}
        free = (1 - GAP * (self.rows - 1)) / sum(heights)
        top = 1.0
        for row, height in enumerate(heights, start=1):
            bottom = max(top - height * free, 0.0)
            self.layout[y_axis(row)] = {"type": NUMBERS, "anchor": "x", "domain": [bottom, top]}
            top = bottom - GAP
        self.layout["xaxis"] = {"type": NUMBERS, "anchor": _reference(self.rows), "domain": [0.0, 1.0]}

    def add_trace(self, trace: Trace, row: int) -> None:
        """Draws a trace into a panel; the first one is 1. It is in the panel's own legend unless it names
        another."""
        legend = "legend" if row == 1 else f"legend{row}"
        self.data.append({"legend": legend} | trace | {"xaxis": "x", "yaxis": _reference(row)})

    def traces_of(self, row: int) -> list[Trace]:
        return [trace for trace in self.data if trace["yaxis"] == _reference(row)]

    def plain(self) -> dict[str, Any]:
        """What plotly.js draws. `{"later": n}` stands for hover facts that `hover` gives."""
        return {"data": [_packed(trace) for trace in self.data], "layout": self.layout}

    def hover(self) -> list[list[Any] | None]:
        """The hover facts that `plain` leaves out, trace by trace."""
        return [_made(trace).tolist() if _is_later(trace) else None for trace in self.data]

    def figure(self) -> go.Figure:
        """With all hover facts."""
        whole = [trace | {"customdata": _made(trace)} if _is_later(trace) else trace for trace in self.data]
        return go.Figure({"data": whole, "layout": self.layout})


def y_axis(row: int) -> str:
    """The key of a panel's axis in a layout: `yaxis`, `yaxis2`."""
    return f"yaxis{row if row > 1 else ''}"


def _reference(row: int) -> str:
    """How a trace names that axis: `y`, `y2`."""
    return f"y{row if row > 1 else ''}"


def _is_later(trace: Trace) -> bool:
    return isinstance(trace.get("customdata"), Later)


def _made(trace: Trace) -> np.ndarray[Any, Any]:
    later: Later = trace["customdata"]
    return later.make()


def _packed(trace: Trace) -> Trace:
    """The trace with its numbers as plotly.js's typed arrays, and other arrays as lists."""
    return {key: _plain(value) for key, value in trace.items()}


def _plain(values: Any) -> Any:
    if isinstance(values, Later):
        return {"later": values.size}
    if not isinstance(values, np.ndarray):
        return values
    if values.dtype.kind not in "iuf":
        return values.tolist()
    floats = np.ascontiguousarray(values, "<f8")  # plotly.js has no 64-bit integers; doubles are exact up to 2^53
    return {"dtype": "f8", "bdata": base64.b64encode(floats.tobytes()).decode()}
