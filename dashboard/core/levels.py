"""An index of a line, so that thinning any range of it costs the same, from a round trip to a hundred million packets.

For each block of rows it knows four points: the first and the last row, and those of the least and the greatest value.
A level's blocks are FACTOR times as long as the blocks of the level below. A range is read on the coarsest level that
still has enough blocks in it, so at most a few points are read for each one that is drawn, and they are neighbours in
the file. Invariant: the points that a level gives contain the extremes of every block, so a spike of one packet
survives. Rejected: thinning all visible rows, which took 5 ms for each million. Rejected: an index of rows alone. Its
points were read all over the line's files, and a first view of a hundred million segments took half a minute from a
cold disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.core.mapping import taken

I64 = NDArray[np.int64]
BLOCK = 64  # rows of a block of the finest level
FACTOR = 8
PARTS = 3  # arrays of a level: rows, times, values


@dataclass(frozen=True)
class Points:
    """Points of a line: their rows, ascending, with the time and the value of each."""

    rows: I64
    t_ns: I64
    value: I64

    @property
    def size(self) -> int:
        """The number of points."""
        return int(self.rows.size)

    def of(self, chosen: Any) -> Points:
        """Some of them."""
        return Points(self.rows[chosen], self.t_ns[chosen], self.value[chosen])


class Levels:
    """The index of one line, whose times are sorted."""

    def __init__(self, t_ns: NDArray[Any], values: NDArray[Any]) -> None:
        self._line = t_ns, values
        self._levels = tuple((size, (rows, t_ns[rows], values[rows])) for size, rows in _levels(values))

    @classmethod
    def of_parts(cls, t_ns: I64, values: I64, parts: Sequence[I64]) -> Levels:
        """An index from the `parts` of an earlier one."""
        found = cls.__new__(cls)
        found._line = t_ns, values
        by_level = (parts[at : at + PARTS] for at in range(0, len(parts), PARTS))
        found._levels = tuple((BLOCK * FACTOR**level, (rows, t, y)) for level, (rows, t, y) in enumerate(by_level))
        return found

    @property
    def parts(self) -> tuple[I64, ...]:
        """The arrays of each level, finest first: rows, times and values of each block's four points."""
        return tuple(part for _, level in self._levels for part in level)

    def candidates(self, start: int, stop: int, points: int) -> Points:
        """Points within [start, stop) that keep the line's shape for `points` points: all of them, or the ends and
        extremes of blocks. Rows of blocks that begin or end outside are all there."""
        for size, level in reversed(self._levels):
            first, last = -(-start // size), min(stop // size, len(level[0]))
            if last - first >= points:
                head, tail = self._all(start, first * size), self._all(last * size, stop)
                whole = Points(*(taken(part, slice(first, last)).ravel() for part in level))
                return _joined(head, whole, tail)
        return self._all(start, stop)

    def _all(self, start: int, stop: int) -> Points:
        t_ns, values = self._line
        rows = slice(start, stop)
        return Points(np.arange(start, stop), taken(t_ns, rows), taken(values, rows))


def _joined(*runs: Points) -> Points:
    """Consecutive lists of points, joined. A row that occurs twice, as an end and as an extreme of its block, is used
    once."""
    names = ("rows", "t_ns", "value")
    joined = Points(*(np.concatenate([getattr(run, name) for run in runs]) for name in names))
    return joined.of(np.append(True, joined.rows[1:] > joined.rows[:-1]))


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
