"""Makes a failing draw plainer: dimension by dimension, as long as it still breaks the same check."""

from __future__ import annotations

from collections.abc import Callable

from bench.invariants.draws import Draw


def shrunk(draw: Draw, still_fails: Callable[[Draw], bool]) -> Draw:
    """The plainest draw that one pass over the dimensions finds. Values that the trial does not use cost no trial."""
    for name in draw.values:
        plainer = draw.plainer(name)
        if plainer.tables == draw.tables or still_fails(plainer):
            draw = plainer
    return draw
