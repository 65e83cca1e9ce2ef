"""Thins dense lines to what a screen can show: min-max-LTTB (tsdownsample) over the visible range.

Only lines are thinned. Events that must never get lost (retransmissions, losses, time-outs, zero windows) have traces
of their own with all rows. `aggregate` is for more events than a browser can draw, and its caller writes a note about
it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tsdownsample import MinMaxLTTBDownsampler

from dashboard.core.levels import Points
from dashboard.core.mapping import taken
from dashboard.core.series import Series

I64 = NDArray[np.int64]
INDEX_FROM = 100_000  # rows in view: thinning fewer is faster than building the line's index


def visible(t: I64, t0: int, t1: int) -> slice:
    """The rows of sorted `t` within [t0, t1], and one more on either side, so that lines reach the figure's edge."""
    start = int(np.searchsorted(t, t0, side="left")) - 1
    stop = int(np.searchsorted(t, t1, side="right")) + 1
    return slice(max(start, 0), min(stop, t.size))


def inside(t: I64, t0: int, t1: int) -> slice:
    """The rows of sorted `t` within [t0, t1]."""
    return slice(int(np.searchsorted(t, t0, side="left")), int(np.searchsorted(t, t1, side="right")))


def thin(t: I64, y: NDArray[Any], t0: int, t1: int, points: int) -> I64:
    """The numbers of at most `points` rows of the visible part. They keep the line's shape and its extremes."""
    return _fewer(_points(Series(t, y), visible(t, t0, t1)), points).rows


def thin_line(line: Series, t0: int, t1: int, points: int) -> Points:
    """At most `points` points of the visible part, with times and values. Where many rows are visible, they come from
    the line's index."""
    rows = visible(line.t_ns, t0, t1)
    if rows.stop - rows.start < INDEX_FROM:
        return _fewer(_points(line, rows), points)
    return _fewer(line.levels.candidates(rows.start, rows.stop, points), points)


def with_corners(steps: Points, wide_ns: int) -> Points:
    """The points of a line that keeps each value until the next point, and a corner before each point that comes more
    than `wide_ns` after the one before it. Joined by straight lines they show every level that lasts at least that
    long."""
    late = np.flatnonzero(np.diff(steps.t_ns) > wide_ns) + 1
    rows, values = (np.insert(of, late, of[late - 1]) for of in (steps.rows, steps.value))
    return Points(rows, np.insert(steps.t_ns, late, steps.t_ns[late]), values)


def _points(line: Series, rows: slice) -> Points:
    return Points(np.arange(rows.start, rows.stop, dtype=np.int64), taken(line.t_ns, rows), taken(line.value, rows))


def _fewer(some: Points, points: int) -> Points:
    if some.size <= points:
        return some
    downsampler = MinMaxLTTBDownsampler()  # type: ignore[no-untyped-call]
    return some.of(downsampler.downsample(some.t_ns, some.value, n_out=points - points % 2).astype(np.int64))


def aggregate(t: I64, t0: int, t1: int, bins: int) -> tuple[I64, I64]:
    """Divides [t0, t1] into `bins` equal spans. Returns the first row and the number of rows of each span that has any.
    `t` is sorted and lies within [t0, t1]."""
    width = max((t1 - t0) / bins, 1.0)
    span = np.minimum(((t - t0) / width).astype(np.int64), bins - 1)
    first = np.flatnonzero(np.diff(span, prepend=-1))
    return first, np.diff(first, append=t.size)
