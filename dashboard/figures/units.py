"""Units of a figure's axes, and hover texts. A figure is drawn in base units (bytes, ns, bit/s); once all traces of an
axis are there, they are divided by the unit that suits the greatest value drawn, and the axis is named after it.

netcommon.readable owns units and texts. Rejected: one unit for each kind of axis, which writes 600k KB on a long fat
path; and the number formats of plotly in hover texts, which cannot choose a unit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from netcommon import readable
from netcommon.readable import Unit


def said(name: str, values: NDArray[Any]) -> list[str]:
    """Each value as people read it, by the unit in `name` (`x_bps`, `x_bytes`, `x_ns`)."""
    return [readable.named(name, value) for value in values.tolist()]


def scale(traces: Iterable[Any], axis: Literal["x", "y"], name: str) -> Unit:
    """Divides the values of `traces` along an axis by the unit that suits them, and returns the unit. `name`: any name
    that ends in the values' base unit."""
    own = list(traces)
    drawn = [float(np.nanmax(np.abs(values))) for trace in own if np.size(values := _values(trace, axis))]
    unit = readable.unit(name, max(drawn, default=0.0))
    for trace in own:
        trace[axis] = _values(trace, axis) / unit.size
        bars = trace[f"error_{axis}"]
        if bars.array is not None:
            bars.update(array=np.asarray(bars.array) / unit.size, arrayminus=np.asarray(bars.arrayminus) / unit.size)
    return unit


def _values(trace: Any, axis: str) -> NDArray[np.float64]:
    return np.asarray(() if trace[axis] is None else trace[axis], np.float64)
