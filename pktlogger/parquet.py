"""Tables of columns as Parquet files."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pktlogger.columns import read_index, read_record, read_table

ROW_GROUP_ROWS = 1 << 20


def to_parquet(folder: str | Path, file: str | Path) -> None:
    """Writes the table in `folder` (an index, a record, or one table of an analysis) as a Parquet file, or nothing.

    Row groups are written one after the other from the mapped columns, so memory stays bounded.
    """
    folder, file = Path(folder), Path(file)
    table = _read(folder)
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        with pq.ParquetWriter(temporary, table.schema, compression="zstd") as writer:
            writer.write_table(table, row_group_size=ROW_GROUP_ROWS)
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def _read(folder: Path) -> pa.Table:
    """The table with what describes it in its metadata."""
    if (folder / "record.json").exists():
        return read_record(folder)
    return read_index(folder) if (folder / "flows.json").exists() else read_table(folder)


def analysis_to_parquet(folder: str | Path, target: str | Path) -> None:
    """Writes segments.parquet, acks.parquet and events.parquet of an analysis into the folder `target`."""
    for name in ("segments", "acks", "events"):
        to_parquet(Path(folder) / name, Path(target) / f"{name}.parquet")
