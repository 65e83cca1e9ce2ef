"""Thinning of dense lines to what a screen can show: min-max-LTTB (tsdownsample), per visible range.

Only lines are thinned. What must never get lost (retransmissions, losses, time-outs, zero windows) is drawn by its own
traces, of all rows; `aggregate` is for the case of more of them than a browser takes, and the caller says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tsdownsample import MinMaxLTTBDownsampler

I64 = NDArray[np.int64]


def visible(t: I64, t0: int, t1: int) -> slice:
    """Rows of sorted `t` within [t0, t1], and one on either side, so that lines run to the figure's edge."""
    start = int(np.searchsorted(t, t0, side="left")) - 1
    stop = int(np.searchsorted(t, t1, side="right")) + 1
    return slice(max(start, 0), min(stop, t.size))


def inside(t: I64, t0: int, t1: int) -> slice:
    """Rows of sorted `t` within [t0, t1] and no other."""
    return slice(int(np.searchsorted(t, t0, side="left")), int(np.searchsorted(t, t1, side="right")))


def thin(t: I64, y: NDArray[Any], t0: int, t1: int, points: int) -> I64:
    """Row numbers of at most `points` rows of the visible part that keep the line's shape, extremes included."""
    rows = visible(t, t0, t1)
    count = rows.stop - rows.start
    if count <= points:
        return np.arange(rows.start, rows.stop, dtype=np.int64)
    x, values = np.ascontiguousarray(t[rows]), np.ascontiguousarray(y[rows])
    downsampler = MinMaxLTTBDownsampler()  # type: ignore[no-untyped-call]
    chosen: I64 = downsampler.downsample(x, values, n_out=points - points % 2).astype(np.int64)
    return chosen + int(rows.start)


def aggregate(t: I64, t0: int, t1: int, bins: int) -> tuple[I64, I64]:
    """First row and number of rows of every non-empty of `bins` equal spans of [t0, t1]; `t` sorted and inside it."""
    width = max((t1 - t0) / bins, 1.0)
    span = np.minimum(((t - t0) / width).astype(np.int64), bins - 1)
    first = np.flatnonzero(np.diff(span, prepend=-1))
    return first, np.diff(first, append=t.size)
