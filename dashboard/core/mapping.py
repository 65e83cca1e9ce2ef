"""Memory-mapped arrays with explicit read-ahead: the requested rows are read from disk together, and nothing else.

By itself the kernel reads pages one by one when they are first touched, each with up to 8 MB around it. In this way a
zoom into a transfer of a hundred million segments read 500 MB from a cold disk, and a first view took 9 s. Here nothing
is read around a large file's pages, and a caller says which rows it is about to use: their pages come from the disk
together. Rejected: reading the rows into memory explicitly. Each view would read again what other views have read.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

I64 = NDArray[np.int64]
MAPPED_FROM = 4096  # bytes; smaller files are read
LARGE_FROM = 4_000_000  # bytes; smaller files have the kernel's own read-ahead, which soon has read all of them


def mapped(path: Path, whole: bool) -> NDArray[Any]:
    """The array in a .npy file. `whole`: it will be read from end to end."""
    size = path.stat().st_size
    found = np.load(path, mmap_mode="r" if size > MAPPED_FROM else None)
    if isinstance(found.base, mmap.mmap) and size > LARGE_FROM and not whole:
        found.base.madvise(mmap.MADV_RANDOM)
    return np.asarray(found)


def taken(values: NDArray[Any], rows: slice | I64) -> NDArray[Any]:
    """`values[rows]`, after the kernel was asked for all of these rows. `rows`: their numbers, or a slice without a
    step; a row is the part of the array at one value of the first index."""
    file = _file_of(values)
    if file is not None and len(file) > LARGE_FROM:
        for first, last in _pages(values, rows, np.frombuffer(file, np.uint8)):
            file.madvise(mmap.MADV_WILLNEED, first * mmap.PAGESIZE, (last + 1 - first) * mmap.PAGESIZE)
    return values[rows]


def _file_of(values: NDArray[Any]) -> mmap.mmap | None:
    """The mapping that an array lies in; None for an array in memory."""
    base: Any = values
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, mmap.mmap) else None


def _pages(values: NDArray[Any], rows: slice | I64, file: NDArray[np.uint8]) -> list[tuple[int, int]]:
    """The first and the last of each sequence of consecutive pages of the file that hold the rows."""
    if isinstance(rows, slice):
        start, stop, _ = rows.indices(len(values))
        ends = _page(values, np.asarray([start, stop - 1]), file)
        return [(int(ends[0]), int(ends[1]))] if start < stop else []
    pages = np.unique(_page(values, rows, file))
    breaks = np.diff(pages) > 1
    first, last = pages[np.append(True, breaks)[: pages.size]], pages[np.append(breaks, True)[: pages.size]]
    return list(zip(first.tolist(), last.tolist(), strict=True))


def _page(values: NDArray[Any], rows: I64, file: NDArray[np.uint8]) -> I64:
    """The page of the file that holds the beginning of each row."""
    return (values.ctypes.data - file.ctypes.data + rows * values.strides[0]) // mmap.PAGESIZE
