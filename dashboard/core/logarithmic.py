"""The numbers beside a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from netcommon import readable

SHORT_SCALE = 3  # powers of ten; a longer scale has ticks only at these


def ticks(low: float, high: float) -> list[float]:
    """The logarithms of tick values between two logarithms: powers of ten, and on a short scale also two and five times
    each."""
    steps = (1, 2, 5) if high - low < SHORT_SCALE else (1,)
    powers = range(math.floor(low), math.ceil(high) + 1)
    every = [power + math.log10(step) for power in powers for step in steps]
    return [tick for tick in every if low <= tick <= high]


def axis(values: Iterable[float]) -> dict[str, Any]:
    """A logarithmic axis for those of these values that are positive and finite. Its tick labels go from the power of
    ten below them to the one above, so that a short axis has more than one."""
    shown = [value for value in values if value > 0 and math.isfinite(value)] or [1.0]
    low, high = math.floor(math.log10(min(shown))), math.floor(math.log10(max(shown))) + 1
    numbers = [10.0**tick for tick in ticks(low, high)]
    return {"type": "log", "tickvals": numbers, "ticktext": [readable.number(value) for value in numbers]}
