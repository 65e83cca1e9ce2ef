"""Tables of columns as Parquet files.

`lfp bench log.index` on a quiet machine with two cores: 5.1 and 5.5 million rows a second of wall time. The settings
were compared on a busy machine with pyarrow 26, on the index of 5 million packets, in rows per second and bytes per
row.

| settings | rows/s | B/row |
|---|---|---|
| defaults with zstd: dictionaries, SACK edges as lists of four | 2.7 M | 8.6 |
| no dictionaries, no compression, lists of four | 5.0 M | 141 |
| zstd level 1, lists of `sack_n` edges | 4.9 M | 6.6 |
| the same with 64-bit columns as differences (DELTA_BINARY_PACKED) | 5.7 M | 5.4 |
| the same with lz4 | 7.0 M | 9.0 |

An index is written with lz4. Only `ack` is written with zstd and without differences, which makes it smaller (0.5
instead of 1.7 bytes per row) and quicker. On a busy machine this took 238 ns of processor time per row (minimum of six
measurements; median 320) and 7.1 bytes per row. The settings of the table's third line took 321 ns (median 394) and 5.7
bytes. Tables other than the index use these settings.

With lists of four, half of the time went into Parquet's repetition levels, although the lists are empty in nearly all
rows. So the lists of an index have only as many elements as there are edges. Rejected: an Arrow C data interface from
pktlogger. The mapped columns already are Arrow's memory, and it is the encoder that takes the time. Rejected: a Parquet
writer of our own.
"""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pktlogger.columns import TABLES, names_of, read_index, read_record, read_table, summary

ROW_GROUP_ROWS = 1 << 20
_LOOKED_UP = {"frame", "t_ns", "flow", "t_sent_ns", "t_arrival_ns"}  # the columns that get statistics
_EDGES = ("sack_left", "sack_right")
_LISTED = {f"{name}.list.element": "lz4" for name in _EDGES}  # Parquet's name for the elements of a list


def to_parquet(folder: str | Path, file: str | Path) -> None:
    """Writes the table in `folder` (an index, a record, or one table of an analysis) as a Parquet file, completely or
    not at all. In the file `sack_left` and `sack_right` of an index are lists of `sack_n` edges, and `ack` is null
    where a packet acknowledges nothing.

    Row groups are written one after the other from the mapped columns, so memory stays bounded.
    """
    _write(_read(Path(folder)), Path(file))


def _write(table: pa.Table, file: Path) -> None:
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    groups = _groups(table)
    first = next(groups)
    wide = [field.name for field in table.schema if field.type in (pa.int64(), pa.uint64())]
    codecs = dict.fromkeys(first.column_names, "zstd")
    if set(_EDGES) <= set(first.column_names):
        wide.remove("ack")
        codecs = {name: "zstd" if name == "ack" else "lz4" for name in codecs} | _LISTED
    try:
        with (
            pq.ParquetWriter(
                temporary,
                first.schema,
                compression=codecs,
                compression_level=_levels(codecs),
                use_dictionary=False,
                column_encoding=dict.fromkeys(wide, "DELTA_BINARY_PACKED"),
                write_statistics=[name for name in first.column_names if name in _LOOKED_UP],
            ) as writer,
            ThreadPoolExecutor(1) as ahead,
        ):
            group: pa.Table | None = first
            while group is not None:
                coming = ahead.submit(next, groups, None)
                writer.write_table(group)
                group = coming.result()
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def _levels(codecs: dict[str, str]) -> dict[str, int]:
    """zstd's fastest level, for columns written with zstd; lz4 has no levels."""
    return {name: 1 for name, codec in codecs.items() if codec == "zstd"}


def _groups(table: pa.Table) -> Iterator[pa.Table]:
    """The row groups of the file; at least one, which may be empty."""
    for start in range(0, max(table.num_rows, 1), ROW_GROUP_ROWS):
        group = _without_no_ack(table.slice(start, ROW_GROUP_ROWS))
        yield _with_lists(group) if set(_EDGES) <= set(group.column_names) else group


def _without_no_ack(group: pa.Table) -> pa.Table:
    """Sets the acknowledgement number of packets without one to null; in the columns it is 2^64 - 1."""
    if "ack" not in group.column_names or group.schema.field("ack").type != pa.uint64():
        return group
    place, ack = group.column_names.index("ack"), group.column("ack").to_numpy()
    return group.set_column(place, "ack", pa.array(ack, mask=ack == np.iinfo(np.uint64).max))


def _without(table: pa.Table, description: dict[str, Any], name: str) -> pa.Table:
    """Sets values that one capture alone does not show to null: whole columns, or the rows of connections that were
    captured at one end.
    """
    everywhere = description.get("not_known", {}).get(name, [])
    for column in everywhere:
        place, kind = table.column_names.index(column), table.schema.field(column).type
        table = table.set_column(place, column, pa.nulls(table.num_rows, kind))
    by_ends = description.get("not_known_by_ends", {})
    for ends, tables in by_ends.items() if len(by_ends) > 1 else ():
        flows = [flow["flow"] for flow in description["flows"] if flow["ends"] == ends]
        hidden = np.isin(table["flow"].to_numpy(), flows)
        for column in set(tables.get(name, [])) - set(everywhere):
            place, values = table.column_names.index(column), table[column].combine_chunks()
            table = table.set_column(place, column, pc.if_else(pa.array(hidden), pa.scalar(None, values.type), values))
    return table


def _with_lists(group: pa.Table) -> pa.Table:
    """SACK edges as lists without the unused elements."""
    numbers = group.column("sack_n").to_numpy()
    some = np.flatnonzero(numbers)
    offsets = np.zeros(numbers.size + 1, np.int32)
    np.cumsum(numbers, out=offsets[1:])
    for name in _EDGES:
        place = group.column_names.index(name)
        fixed = group.column(name).combine_chunks()
        edges = fixed.flatten().to_numpy().reshape(-1, fixed.type.list_size)[some]  # most pages are not touched
        values = edges[np.arange(fixed.type.list_size) < numbers[some, None]]
        group = group.set_column(place, name, pa.ListArray.from_arrays(pa.array(offsets), pa.array(values)))
    return group


def _read(folder: Path) -> pa.Table:
    """The table, with its description in the schema's metadata."""
    if (folder / "record.json").exists():
        return read_record(folder)
    return read_index(folder) if (folder / "flows.json").exists() else read_table(folder)


def analysis_to_parquet(folder: str | Path, target: str | Path) -> None:
    """Writes each table of an analysis as a Parquet file (segments.parquet, …) into the folder `target`. Values that
    one capture alone does not show are null. The schema's metadata holds under `pktlogger.names` the names behind the
    numbers in a column: `{"kind":["new",…]}`."""
    description = summary(folder)
    for name in TABLES:
        names = json.dumps(names_of(description, name)).encode()
        table = read_table(Path(folder) / name, {b"pktlogger.names": names})
        table = _without(table, description, name)
        _write(table, Path(target) / f"{name}.parquet")
