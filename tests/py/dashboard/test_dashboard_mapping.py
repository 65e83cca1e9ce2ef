"""Arrays in files: the requested rows, and hardly anything else of the file, are read from the disk."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dashboard.core.mapping import mapped, taken

VALUES = 8_000_000
MOST_BYTES = 1_000_000  # of 64 MB


def uncached(path: Path) -> Path:
    """Drops the file from the kernel's page cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return path


def read_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_inblock * 512


@pytest.mark.parametrize(
    "rows",
    [
        slice(4_000_001, 4_020_000),
        slice(7_999_999, 9_000_000),
        slice(5, 5),
        np.arange(0, VALUES, VALUES // 100),
        np.array([7_999_999, 3, 3, 5_000_000]),
        np.zeros(0, np.int64),
    ],
)
def test_rows_come_with_little_around_them(rows: slice | NDArray[np.int64], tmp_path: Path) -> None:
    np.save(tmp_path / "of.npy", np.arange(VALUES))
    values = mapped(uncached(tmp_path / "of.npy"), whole=False)
    before = read_bytes()
    assert np.array_equal(taken(values, rows), np.arange(VALUES)[rows])
    assert read_bytes() - before < MOST_BYTES


def test_a_search_reads_the_pages_that_it_looks_at(tmp_path: Path) -> None:
    np.save(tmp_path / "of.npy", np.arange(VALUES))
    values = mapped(uncached(tmp_path / "of.npy"), whole=False)
    before = read_bytes()
    assert np.searchsorted(values, VALUES // 3) == VALUES // 3
    assert read_bytes() - before < MOST_BYTES


def test_a_part_of_an_array_and_one_in_memory(tmp_path: Path) -> None:
    np.save(tmp_path / "of.npy", np.arange(VALUES, dtype=np.uint8).reshape(-1, 4))
    values = mapped(tmp_path / "of.npy", whole=False)
    for of in (values, values[1000:], np.arange(100)):
        assert np.array_equal(taken(of, np.array([0, 50])), of[[0, 50]])
        assert np.array_equal(taken(of, slice(-2, None)), of[-2:])
