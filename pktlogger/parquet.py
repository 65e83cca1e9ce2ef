"""Tables of columns as Parquet files."""

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pktlogger.columns import names_of, read_index, read_record, read_table, summary

ROW_GROUP_ROWS = 1 << 20


def to_parquet(folder: str | Path, file: str | Path) -> None:
    """Writes the table in `folder` (an index, a record, or one table of an analysis) as a Parquet file, whole or not at
    all.

    Row groups are written one after the other from the mapped columns, so memory stays bounded.
    """
    _write(_read(Path(folder)), Path(file))


def _write(table: pa.Table, file: Path) -> None:
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        with pq.ParquetWriter(temporary, table.schema, compression="zstd") as writer:
            writer.write_table(table, row_group_size=ROW_GROUP_ROWS)
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def _read(folder: Path) -> pa.Table:
    """The table, with its description in the schema's metadata."""
    if (folder / "record.json").exists():
        return read_record(folder)
    return read_index(folder) if (folder / "flows.json").exists() else read_table(folder)


def analysis_to_parquet(folder: str | Path, target: str | Path) -> None:
    """Writes segments.parquet, acks.parquet and events.parquet of an analysis into the folder `target`. The schema's
    metadata holds under `pktlogger.names` the names of the numbers in a column: `{"kind":["new",…]}`."""
    description = summary(folder)
    for name in ("segments", "acks", "events"):
        names = json.dumps(names_of(description, name)).encode()
        table = read_table(Path(folder) / name, {b"pktlogger.names": names})
        _write(table, Path(target) / f"{name}.parquet")
