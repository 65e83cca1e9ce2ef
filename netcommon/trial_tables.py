"""Reads a table of a trial that somebody else may have written, at a bounded cost.

A table of a few kilobytes may expand to a thousand million equal rows, or to the same long text in each row. So its
metadata are checked before rows are read. Tables of 100 million segments are usual, so the bound is on the ratio of the
size in memory to the size of the file. Real tables reached a ratio of at most 280 (a trial in virtual time, whose times
repeat exactly); the largest that pktlogger's settings can produce is 1,499, for segments at equal distances with all
other columns constant. Lists are refused, because their length is not in the metadata. Rejected: a bound on rows, or on
the size of the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netcommon import readable
from netcommon.errors import LfpError

if TYPE_CHECKING:  # not at module level: measuring does not need it, and a guest loads it slowly
    import pyarrow as pa
    import pyarrow.parquet as parquet

FREE_BYTES = 256 << 20
MOST_GROWTH = 2048
MOST_TEXT_BYTES = 256 << 20


def read(
    file: Path, columns: Sequence[str] | None = None, *, filters: Any = None, memory_map: bool = False
) -> pa.Table:
    """A trial's table, or these columns of it. ``filters``: as in pyarrow. LfpError for a table that is damaged, or
    would become larger than any trial's."""
    import pyarrow.parquet as parquet

    with judged(file):
        names = None if columns is None else list(columns)
        return parquet.read_table(file, columns=names, filters=filters, memory_map=memory_map)


def names(file: Path) -> list[str]:
    """The names of its columns."""
    with judged(file) as opened:
        found: list[str] = opened.schema_arrow.names
    return found


def row_count(file: Path) -> int:
    """How many rows it has."""
    with judged(file) as opened:
        return int(opened.metadata.num_rows)


def described(table: pa.Table | pa.Schema, key: str) -> dict[str, Any]:
    """The JSON object in the table's metadata under this name; empty if there is none."""
    schema = getattr(table, "schema", table)
    try:
        found = json.loads((schema.metadata or {}).get(key.encode(), b"{}"))
    except (ValueError, RecursionError) as error:
        raise LfpError(f"a table's metadata: '{key}' is not a JSON object ({str(error).splitlines()[0]})") from error
    if not isinstance(found, dict):
        raise LfpError(f"a table's metadata: '{key}' is not a JSON object")
    return found


@contextmanager
def judged(file: Path) -> Iterator[parquet.ParquetFile]:
    """The file, open. Its method `read` uses only the caller's thread, unlike the function `read`, and takes a fifth of
    the time for a small table."""
    import pyarrow.parquet as parquet

    with damage_named(file), parquet.ParquetFile(file, memory_map=True, pre_buffer=False) as opened:
        size, most = _bytes(opened), FREE_BYTES + MOST_GROWTH * file.stat().st_size
        if size > most:
            raise LfpError(
                f"{file}: {readable.size(size)} of values in a file of {readable.size(file.stat().st_size)}, more "
                f"than any trial has ({readable.size(most)} at most)"
            )
        if lists := [column.path for column in _columns(opened) if column.max_repetition_level]:
            raise LfpError(f"{file}: a column of lists ({lists[0]}), which no trial's table has")
        if texts := [column.path for column in _columns(opened) if column.physical_type == "BYTE_ARRAY"]:
            check_texts(file, text_bytes(file, texts), "trial")
        yield opened


@contextmanager
def damage_named(file: Path) -> Iterator[None]:
    """Turns pyarrow's error about a damaged file into an LfpError of one line."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno:  # this is an error of the system and not of the file
            raise
        raise LfpError(f"{file}: not readable: {str(error).splitlines()[0]}") from error


def text_bytes(file: Path, columns: list[str]) -> int:
    """The length of all texts in these columns, summed while the texts are indices into a dictionary."""
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(file, memory_map=True, pre_buffer=False, read_dictionary=columns) as opened:
        read = opened.read(columns, use_threads=False).columns
    return sum(_length(chunk) for column in read for chunk in column.chunks)


def check_texts(file: Path, size: int, of: str) -> None:
    """Raises LfpError when the texts are longer than those of any trial or run."""
    if size > MOST_TEXT_BYTES:
        most = readable.size(MOST_TEXT_BYTES)
        raise LfpError(f"{file}: {readable.size(size)} of text, more than any {of} has ({most} at most)")


def _length(chunk: pa.Array) -> int:
    import pyarrow.compute as pc

    lengths = pc.binary_length(chunk.dictionary)
    return int(pc.sum(lengths.take(chunk.indices)).as_py() or 0)


def _columns(opened: parquet.ParquetFile) -> list[Any]:
    return [opened.schema.column(place) for place in range(opened.metadata.num_columns)]


def _bytes(opened: parquet.ParquetFile) -> int:
    """The memory that all values take, by the file's own count of values; a text counts as an index into a
    dictionary."""
    kinds = {field.name: field.type for field in opened.schema_arrow}
    widths = [_width(column, kinds) for column in _columns(opened)]
    groups = (opened.metadata.row_group(number) for number in range(opened.metadata.num_row_groups))
    return sum(
        width * max(group.num_rows, group.column(place).num_values)
        for group in groups
        for place, width in enumerate(widths)
    )


def _width(column: Any, kinds: Mapping[str, Any]) -> int:
    """The octets of a value."""
    try:
        return max(1, int(kinds[column.path].bit_width) // 8)
    except (KeyError, ValueError):  # in a structure; a text
        return max(8, int(column.length))
