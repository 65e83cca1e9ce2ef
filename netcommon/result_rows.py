"""Reads a results.parquet that somebody else may have written, at a bounded cost.

A table of a few kilobytes may expand to a thousand million equal rows, or to the same long text in each row. So the
file's metadata are checked before rows are read, and the lengths of texts are summed while the texts are still indices
into a dictionary. Rejected: a bound on the size of the file, which does not bound its size in memory.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as parquet

from netcommon import trial_tables
from netcommon.errors import LfpError

MOST_CELLS = 32_000_000  # per table; a run of 10,000 trials with 4 flows and 300 columns has 12 million values


def check(file: Path) -> None:
    """Raises LfpError for a table that is damaged, or would become larger than any run's."""
    with _judged(file):
        return


def read(file: Path) -> pa.Table:
    """The table. Rejected: read_table, whose threads cost more than reading a small file, which matters for a list of
    1,000 runs."""
    with _judged(file) as opened:
        return opened.read(use_threads=False)


def rows(file: Path) -> list[dict[str, Any]]:
    """The rows of the table."""
    found: list[dict[str, Any]] = read(file).to_pylist()
    return found


def csv(rows: Sequence[dict[str, Any]]) -> bytes:
    """The rows as CSV with a header. It has every column that any row has; a missing value is empty."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.BytesIO()
    pa.csv.write_csv(pa.table({name: pa.array([_plain(row.get(name)) for row in rows]) for name in names}), text)
    return text.getvalue()


def _plain(value: object) -> str | None:
    """A value as CSV text, because a column's type may differ between runs."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


@contextmanager
def _judged(file: Path) -> Iterator[parquet.ParquetFile]:
    with trial_tables.damage_named(file), parquet.ParquetFile(file, memory_map=True, pre_buffer=False) as opened:
        cells = opened.metadata.num_rows * opened.metadata.num_columns
        if cells > MOST_CELLS:
            raise LfpError(f"{file}: {cells:,} values, more than any run has ({MOST_CELLS:,} at most)")
        trial_tables.check_texts(file, _text_bytes(file, opened), "run")
        yield opened


def _text_bytes(file: Path, opened: parquet.ParquetFile) -> int:
    """An upper bound of the length of all texts. It first assumes that each row's text is as long as its whole column
    in the file. If that exceeds the limit, it reads the texts."""
    most, meta = 0, opened.metadata
    for number in range(meta.num_row_groups):
        group = meta.row_group(number)
        columns = (group.column(place) for place in range(group.num_columns))
        texts = (column for column in columns if column.physical_type == "BYTE_ARRAY")
        most += sum(group.num_rows * column.total_uncompressed_size for column in texts)
    if most <= trial_tables.MOST_TEXT_BYTES:
        return most
    places = [opened.schema.column(place) for place in range(meta.num_columns)]
    names = [column.path for column in places if column.physical_type == "BYTE_ARRAY"]
    return trial_tables.text_bytes(file, names)
