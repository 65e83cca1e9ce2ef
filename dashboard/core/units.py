"""Units of a figure's axes, and hover texts. A figure is drawn in base units (bytes, ns, bit/s). Once all traces of an
axis are there, they are divided by the unit that suits the greatest value drawn, and the axis is labelled with this
unit.

netcommon.readable owns units and texts. Rejected: one unit for each kind of axis, which writes 600k KB on a long fat
path. Rejected: the number formats of plotly in hover texts, which cannot choose a unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from netcommon import readable
from netcommon.readable import Unit


def said(name: str, values: NDArray[Any]) -> NDArray[np.object_]:
    """Each value as people read it, by the unit in `name` (`x_bps`, `x_bytes`, `x_ns`). For speed, each distinct value
    is formatted once, after times and rates have been rounded to the four digits of their texts."""
    rounded = _four_digits(values) if name.endswith(("ns", "bps")) else values
    different, which = np.unique(rounded, return_inverse=True)
    return np.asarray([readable.named(name, value) for value in different.tolist()], object)[which]


def ticks_named(title: str, texts: Sequence[str]) -> tuple[str, list[str]]:
    """The title of an axis, and the labels of its ticks. ``texts``: the ticks' values. If all have the same unit, only
    the title has it: `Loss (%)`, `0.1`. Otherwise each label keeps its unit, and the title has none. Zero is `0`."""
    parts = [_amount(text) for text in texts]
    units = {unit for amount, unit in parts if amount}
    if len(units) > 1:
        return title, ["0" if amount == 0 else text for text, (amount, _) in zip(texts, parts, strict=True)]
    bare = [text if amount is None else text.partition(" ")[0] for text, (amount, _) in zip(texts, parts, strict=True)]
    return Unit(1, next(iter(units), "")).title(title), bare


def _amount(text: str) -> tuple[float | None, str]:
    """The number and the unit of a text; None for a text that is not a number."""
    number, _, unit = text.partition(" ")
    try:
        return float(number), unit
    except ValueError:
        return None, ""


def _four_digits(values: NDArray[Any]) -> NDArray[np.float64]:
    """The values rounded to the four digits of a text."""
    whole = values.astype(np.float64)
    sizes = np.abs(whole[np.isfinite(whole) & (whole != 0)])
    if not sizes.size:
        return whole
    step = np.where(whole == 0, 1.0, 10.0 ** (np.floor(np.log10(np.maximum(np.abs(whole), sizes.min()))) - 3))
    return np.asarray(np.round(whole / step) * step)


def scale(traces: Iterable[Any], axis: Literal["x", "y"], name: str) -> Unit:
    """Divides the values of `traces` along an axis by the unit that suits them, and returns the unit. `name`: any name
    that ends in the values' base unit."""
    own = list(traces)
    drawn = [float(np.nanmax(np.abs(values))) for trace in own if np.size(values := _values(trace, axis))]
    unit = readable.unit(name, max(drawn, default=0.0))
    for trace in own:
        trace[axis] = _values(trace, axis) / unit.size
        bars = None if isinstance(trace, dict) else trace[f"error_{axis}"]
        if bars is not None and bars.array is not None:
            bars.update(array=np.asarray(bars.array) / unit.size, arrayminus=np.asarray(bars.arrayminus) / unit.size)
    return unit


def _values(trace: Any, axis: str) -> NDArray[np.float64]:
    return np.asarray(() if trace[axis] is None else trace[axis], np.float64)
