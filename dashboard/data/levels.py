"""An index of a line, so that thinning any range of it costs the same, from a round trip to a hundred million packets.

For each block of rows it knows the first and last row and those of the least and greatest value; a level's blocks are
FACTOR times as long as those of the level below. A range is read on the coarsest level that still has enough blocks in
it, so at most a few rows for each point that is drawn. Invariant: the rows that a level gives contain the extremes of
every block, so a spike of one packet survives. Rejected: thinning all visible rows, which took 5 ms for each million.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

I64 = NDArray[np.int64]
BLOCK = 64  # rows of a block of the finest level
FACTOR = 8


class Levels:
    """The index of one line's values, row by row."""

    def __init__(self, values: NDArray[Any]) -> None:
        self._levels = tuple(_levels(values))

    @classmethod
    def of_rows(cls, rows: Sequence[I64]) -> Levels:
        """An index from the `rows` of an earlier one."""
        found = cls.__new__(cls)
        found._levels = tuple((BLOCK * FACTOR**level, extremes) for level, extremes in enumerate(rows))
        return found

    @property
    def rows(self) -> tuple[I64, ...]:
        """The rows of each level, finest first."""
        return tuple(extremes for _, extremes in self._levels)

    def candidates(self, start: int, stop: int, points: int) -> I64:
        """Rows within [start, stop), ascending, that keep the line's shape for `points` points: all of them, or the
        ends and extremes of blocks. Rows of blocks that begin or end outside are all there."""
        for size, extremes in reversed(self._levels):
            first, last = -(-start // size), min(stop // size, len(extremes))
            if last - first >= points:
                chosen = [
                    np.arange(start, first * size), extremes[first:last].ravel(), np.arange(last * size, stop)
                ]  # fmt: skip
                rows = np.concatenate(chosen)
                return np.asarray(rows[np.append(True, rows[1:] > rows[:-1])], dtype=np.int64)
        return np.arange(start, stop)


def _levels(values: NDArray[Any]) -> Iterator[tuple[int, I64]]:
    """For each level, finest first, the length of its blocks, and for each whole block four ascending rows: its first,
    least, greatest and last."""
    count, size = values.size // BLOCK, BLOCK
    if not count:
        return
    blocks = values[: count * size].reshape(count, size)
    start = np.arange(count, dtype=np.int64) * size
    least, greatest = start + blocks.argmin(axis=1), start + blocks.argmax(axis=1)
    while True:
        yield size, np.column_stack([start, np.minimum(least, greatest), np.maximum(least, greatest), start + size - 1])
        count, size = count // FACTOR, size * FACTOR
        if not count:
            return
        start = np.arange(count, dtype=np.int64) * size
        below = np.arange(count)
        own = [rows[: count * FACTOR].reshape(count, FACTOR) for rows in (least, greatest)]
        least = own[0][below, values[own[0]].argmin(axis=1)]
        greatest = own[1][below, values[own[1]].argmax(axis=1)]
