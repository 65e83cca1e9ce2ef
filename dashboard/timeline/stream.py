"""Bytes that passed a point, in order of time, and their rate in any bins.

Every APART-th time is kept in an array of its own. So finding a bin's edge reads one page of a file, however long the
transfer was. A binary search in the whole file read 4,000 pages for the two rates of a view of a hundred million
segments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.core.mapping import taken

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
APART = 512  # rows; a page of times


@dataclass(frozen=True)
class Stream:
    """The sorted times of packets; the bytes of all rows before each one, and last the total; every APART-th time."""

    t_ns: I64
    bytes_until: I64
    marks_ns: I64

    @classmethod
    def of(cls, t_ns: I64, size: NDArray[np.integer]) -> Stream:
        """Made from the times and sizes of packets."""
        total = np.zeros(size.size + 1, np.int64)
        np.cumsum(size, dtype=np.int64, out=total[1:])
        return cls(t_ns, total, t_ns[::APART].copy())

    def rows_before(self, times: I64) -> I64:
        """The number of packets before each of these times, which are sorted."""
        blocks = np.unique(np.maximum(np.searchsorted(self.marks_ns, times) - 1, 0))
        near = (blocks[:, None] * APART + np.arange(APART)).ravel()
        near = near[: np.searchsorted(near, self.t_ns.size)]
        before = np.searchsorted(taken(self.t_ns, near), times)
        return np.append(0, near + 1)[before] if near.size else before

    def rate_bps(self, t0: int, t1: int, bin_ns: int) -> tuple[I64, F64]:
        """The starts of bins of `bin_ns` over [t0, t1], and the rate in each of them in bit/s."""
        edges = t0 + bin_ns * np.arange((t1 - t0) // bin_ns + 2, dtype=np.int64)
        total = taken(self.bytes_until, self.rows_before(edges))
        return edges[:-1], np.diff(total) * (8e9 / bin_ns)
