"""Folders of .npy columns as pyarrow tables that share the files' memory."""

import json
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from netcommon import trial_tables

FORMAT_VERSION = 1


TABLES = ("segments", "acks", "events", "limits", "losses", "rates", "round_trips")  # of an analysis


class Analysis(NamedTuple):
    """The results of `pktlogger analyse`: its tables and the summary of each flow."""

    segments: pa.Table
    acks: pa.Table
    events: pa.Table
    summary: dict[str, Any]
    limits: pa.Table
    losses: pa.Table
    rates: pa.Table
    round_trips: pa.Table


def _load_json(path: Path) -> dict[str, Any]:
    content = cast("dict[str, Any]", json.loads(path.read_text()))
    if content.get("v") != FORMAT_VERSION:
        raise ValueError(f"'{path}': format version {content.get('v')}; this reader knows {FORMAT_VERSION}")
    return content


def _column(path: Path) -> pa.Array:
    """One .npy file as an Arrow array over the mapped file; rows of several elements become fixed-size lists."""
    values = np.load(path, mmap_mode="r")
    flat = values.reshape(-1)
    array = pa.Array.from_buffers(pa.from_numpy_dtype(flat.dtype), flat.size, [None, pa.py_buffer(flat)])
    return array if values.ndim == 1 else pa.FixedSizeListArray.from_arrays(array, values.shape[1])


def read_table(folder: str | Path, metadata: dict[bytes, bytes] | None = None) -> pa.Table:
    """The table in `folder`, which holds a columns.json. Nothing is copied."""
    folder = Path(folder)
    names = _load_json(folder / "columns.json")["columns"]
    table = pa.Table.from_arrays([_column(folder / f"{name}.npy") for name in names], names=names)
    return table.replace_schema_metadata(metadata)


def flows(folder: str | Path) -> list[dict[str, Any]]:
    """The flows of an index; its column `flow` holds indexes of this list."""
    return cast("list[dict[str, Any]]", _load_json(Path(folder) / "flows.json")["flows"])


def read_index(folder: str | Path) -> pa.Table:
    """The packets of an index; the schema's metadata holds flows.json under `pktlogger.flows`."""
    return read_table(folder, {b"pktlogger.flows": (Path(folder) / "flows.json").read_bytes()})


def record_description(folder: str | Path) -> dict[str, Any]:
    """The record.json of a box's record: names of fates and directions, the bits of `edits`, skipped packets and
    gaps."""
    return _load_json(Path(folder) / "record.json")


def frame_sources(folder: str | Path) -> list[str]:
    """The addresses to which the column `source` of `pktlogger frames` refers by index; 255 means none of them."""
    return cast("list[str]", _load_json(Path(folder) / "frames.json")["sources"])


def read_record(folder: str | Path) -> pa.Table:
    """The wire packets of a box's record; the schema's metadata holds flows.json and record.json."""
    names = {b"pktlogger.flows": "flows.json", b"pktlogger.record": "record.json"}
    return read_table(folder, {key: (Path(folder) / name).read_bytes() for key, name in names.items()})


def summary(folder: str | Path) -> dict[str, Any]:
    """summary.json of an analysis."""
    return _load_json(Path(folder) / "summary.json")


def read_analysis(folder: str | Path) -> Analysis:
    """Segments, acknowledgements, events and summary of an analysis. `folder` is what `pktlogger analyse` wrote, or the
    folder of a trial, which holds the same tables as Parquet. For any other folder FileNotFoundError says what the
    folder is."""
    folder = Path(folder)
    tables = {name: _table_of(folder, name) for name in TABLES[:3]}
    return Analysis(**tables, summary=summary(folder), **{name: _newer(folder, name) for name in TABLES[3:]})


def _newer(folder: Path, name: str) -> pa.Table:
    """A table that earlier versions of `analyse` did not write; empty if it is missing."""
    there = (folder / f"{name}.parquet").is_file() or (folder / name).is_dir()
    return _table_of(folder, name) if there else pa.table({})


def _table_of(folder: Path, name: str) -> pa.Table:
    file = folder / f"{name}.parquet"
    if file.is_file():
        return trial_tables.read(file, memory_map=True)
    if (folder / name / "columns.json").is_file():
        return read_table(folder / name)
    if (folder / "manifest.json").is_file():
        one = next(iter(sorted((folder / "trials").glob("[0-9]*/segments.parquet"))), None)
        hint = f"such as '{one.parent}'" if one else "but none of its trials was captured (capture.points)"
        raise FileNotFoundError(f"'{folder}' is a run's folder; want a trial's, {hint}")
    raise FileNotFoundError(
        f"'{folder}' holds no analysis: neither {name}/ (of 'pktlogger analyse') nor {name}.parquet (of a trial whose "
        "capture.points has both ends)"
    )


def names_of(description: dict[str, Any], table: str) -> dict[str, list[str]]:
    """The names behind the numbers in a table's columns, from summary.json: for ``kind``, and for ``box_fate`` where
    the delay box had a record."""
    kinds = {"segments": "segment_kinds", "events": "event_kinds"}
    if table == "limits":
        return {"cause": description["limit_causes"]}
    if table == "losses":
        return dict.fromkeys(("cause", "seen_cause"), description["loss_causes"])
    names = {"kind": description[kinds[table]]} if table in kinds else {}
    fates = (description.get("box") or {}).get("fates")
    return names | ({"box_fate": list(fates)} if fates and table in ("segments", "acks") else {})
