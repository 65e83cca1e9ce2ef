"""Two ways of the same transfer, measured alternately."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rttcp
from bench.registry import Place, Result, scaled


def alternating(
    name: str, unit: str, count: int, place: Place, base: Callable[[], float], ours: Callable[[], float]
) -> Result:
    """Measures both ways in turn; every other pair begins with ours."""
    measured: list[dict[str, Any]] = []
    for number in range(1, count + 1):
        order = [("base", base), ("ours", ours)]
        pair = {key: measure() for key, measure in (order if number % 2 else reversed(order))}
        measured.append(pair)
        figures = f"without {scaled(pair['base'], unit)}, with {scaled(pair['ours'], unit)}"
        place.say(f"{name} {number}/{count}: {figures}, ratio {pair['ours'] / pair['base']:.3f}")
    return Result(name, unit, "without", measured)


def cpu_ns_a_byte(side: rttcp.Side) -> float:
    """The CPU time per byte that one end's process used, ns."""
    return (side.cpu_user_ns + side.cpu_system_ns) / side.bytes
