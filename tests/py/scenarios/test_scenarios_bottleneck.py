"""What waits at a bottleneck, from the box's record: sojourns, octets over time, marks and drops."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from scenarios.statistics import bottleneck
from scenarios.trial import bottleneck as of_trial

MS = 10**6
FATES = ["sent", "loss", "queue", "aqm", "pace", "memory", "write", "drain", "outage", "policer", "held"]


def record(*packets: tuple[int, int, str, int], way: int = 0) -> dict[str, Any]:
    """A box's table: for each packet its arrival and the end of its wait, ms, its fate and its edits; 114 octets with
    the link header, 100 without."""
    arrived, left, fates, edits = zip(*packets, strict=True)
    sent = np.asarray([fate == "sent" for fate in fates])
    left_ns = np.asarray(left) * MS
    return {
        "direction": np.full(len(packets), way, np.uint8),
        "number": np.arange(len(packets), dtype=np.uint64),
        "copy": np.zeros(len(packets), np.uint8),
        "fate": np.asarray([FATES.index(fate) for fate in fates], np.uint8),
        "edits": np.asarray(edits, np.uint8),
        "t_arrival_ns": np.asarray(arrived) * MS,
        "t_queue_exit_ns": np.where(sent, left_ns, -1),
        "t_drop_ns": np.where(sent, -1, left_ns),
        "wire_len": np.full(len(packets), 114, np.uint32),
    }


def packets_of(*rows: tuple[int, int, str, int]) -> bottleneck.Packets:
    found = bottleneck.of_record(record(*rows), FATES, 0, -14)
    assert found is not None
    return found


def test_sojourns_and_octets_of_a_queue_of_four_packets() -> None:
    """Four packets arrive at once at a line that takes 10 ms for each. Queue management drops one of them after 20
    ms."""
    found = bottleneck.columns(
        packets_of((0, 10, "sent", 0), (0, 20, "sent", 1), (0, 30, "sent", 0), (0, 20, "aqm", 0), (5, 5, "queue", 0))
    )
    assert [found[f"sojourn_{name}_ns"] // MS for name in ("p50", "p90", "p99", "max")] == [20, 30, 30, 30]
    assert found["queued_mean_bytes"] == round((400 + 300 + 100) / 3)
    assert (found["queued_p50_bytes"], found["queued_p99_bytes"], found["queued_max_bytes"]) == (300, 400, 400)


def test_what_never_was_in_the_queue_does_not_count() -> None:
    rows = record((0, 10, "sent", 0), (1, 1, "loss", 0), (2, 2, "policer", 0), (3, 3, "outage", 0))
    found = bottleneck.of_record(rows, FATES, 0, -14)
    assert found is not None and found.arrived_ns.tolist() == [0]
    rows["copy"][:] = 1
    assert bottleneck.of_record(rows, FATES, 0, -14) is None
    assert bottleneck.of_record(rows, FATES, 1, -14) is None


def test_rows_over_time_count_from_the_origin() -> None:
    rows = bottleneck.over_time(
        packets_of((0, 40, "sent", 1), (30, 140, "sent", 1), (130, 150, "aqm", 0), (310, 320, "sent", 0)), 20 * MS
    )
    assert (rows["t0_ns"] // MS).tolist() == [-80, 20, 120, 220, 320]
    assert rows["packets"].tolist() == [0, 1, 1, 0, 1]
    assert rows["marked"].tolist() == [0, 1, 1, 0, 0] and rows["dropped"].tolist() == [0, 0, 1, 0, 0]
    assert rows["sojourn_p50_ns"].filled(-1).tolist() == [-1, 40 * MS, 110 * MS, -1, 10 * MS]
    assert rows["queued_mean_bytes"] == pytest.approx([20, 20 + 90, 20 + 20, 10, 0])
    assert rows["queued_max_bytes"].tolist() == [100, 200, 200, 100, 0], "the last one has left when its row begins"


def test_a_queue_at_random_is_what_a_loop_over_its_packets_finds() -> None:
    seed = random.randrange(2**32)
    rng = np.random.default_rng(seed)
    arrived = np.cumsum(rng.integers(0, 3, 500))
    left = np.maximum.accumulate(arrived + rng.integers(1, 30, 500))
    fates = rng.choice(["sent", "aqm", "loss"], 500, p=[0.8, 0.1, 0.1])
    found = packets_of(*zip(arrived.tolist(), left.tolist(), fates.tolist(), [0] * 500, strict=True))
    told = bottleneck.columns(found)
    waited = sorted((left - arrived)[fates == "sent"].tolist())
    assert told["sojourn_p99_ns"] == waited[-(-99 * len(waited) // 100) - 1] * MS, seed
    queued = [
        100 * sum(a <= t < e and fate != "loss" for a, e, fate in zip(arrived, left, fates, strict=True))
        for t in range(int(found.arrived_ns[0] // MS), int(found.left_ns.max() // MS))
    ]
    assert told["queued_mean_bytes"] == pytest.approx(sum(queued) / len(queued), abs=0.51), seed
    assert told["queued_max_bytes"] == max(queued), seed
    assert told["queued_p50_bytes"] == sorted(queued)[-(-len(queued) // 2) - 1], seed
    rows = bottleneck.over_time(found, 0)
    assert rows["packets"].sum() == len(waited) and rows["dropped"].sum() == (fates == "aqm").sum(), seed


def test_a_trial_keeps_both_directions(tmp_path: Path) -> None:
    tables = [record((0, 10, "sent", 0), (0, 20, "sent", 0)), record((0, 5, "sent", 1), way=1)]
    whole = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    described = {"pktlogger.record": json.dumps({"fates": FATES})}
    parquet.write_table(pa.table(whole).replace_schema_metadata(described), tmp_path / "box.parquet")
    (tmp_path / "params.json").write_text(json.dumps({"framing": "ethernet"}))
    (tmp_path / "transfer.json").write_text(json.dumps({"sender": {"t0_realtime_ns": 1}}))
    of_trial.write(tmp_path)
    found = of_trial.columns(tmp_path)
    assert found["sojourn_max_ns"] == 20 * MS and found["reverse_sojourn_max_ns"] == 5 * MS
    assert found["queued_max_bytes"] == 2 * 138 and found["reverse_queued_max_bytes"] == 138
    rows = parquet.read_table(tmp_path / "queue.parquet").to_pylist()
    assert {row["direction"] for row in rows} == {"forward", "reverse"}


def test_without_a_record_there_are_no_columns(tmp_path: Path) -> None:
    of_trial.write(tmp_path)
    assert of_trial.columns(tmp_path) == {}
