"""Latency under load in virtual time: flows both ways and exchanges at the same time. Columns and tables against the
box's record, rttcp's own figures, and each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
from captured_trials import ran

from scenarios.virtual import kernel

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]

LINK = 14  # bytes of a packet that framing "ip" does not count
RATE_BPS, ROUND_MS, QUEUE = 20_000_000, 20, 200
SCENARIO = f"""
[scenario]
name = "load"
[path]
delay = "{ROUND_MS // 2}ms"
rate = "{RATE_BPS}bit"
queue_packets = {QUEUE}
[transfer]
duration = "8s"
congestion = "cubic"
bidir = true
[flow.second]
[flow.asks]
bidir = false
request = "100B"
response = "100B"
[capture]
points = ["box"]
[sweep]
"path.aqm" = ["none", "fq_codel"]
"""


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """The rows of each trial by its discipline."""
    made = Path(ran(tmp_path_factory.mktemp("load"), SCENARIO)[0]["path"]).parents[1]
    found: dict[str, list[dict[str, Any]]] = {}
    for row in parquet.read_table(made / "results.parquet").to_pylist():
        found.setdefault(row["aqm"], []).append(row | {"folder": made / "trials" / f"{row['trial']:04d}"})
    return found


@pytest.mark.parametrize("aqm", ["none", "fq_codel"])
def test_each_exchange_has_a_row_and_the_percentiles_are_rttcps(
    trials: dict[str, list[dict[str, Any]]], aqm: str
) -> None:
    asks = trials[aqm][2]
    table = parquet.read_table(asks["folder"] / "flows" / "asks" / "latencies.parquet")
    took, began = (np.asarray(table[name].to_numpy()) for name in ("latency_ns", "t_ns"))
    end = json.loads((asks["folder"] / "transfer.json").read_text())["flows"]["asks"]
    assert took.size == end["summary"]["exchange"]["exchanges"]
    assert (began[1:] == began[:-1] + took[:-1]).all(), "an exchange begins where the one before it ended"
    assert (asks["latency_min_ns"], asks["latency_max_ns"]) == (took.min(), took.max())
    assert abs(asks["latency_mean_ns"] - took.mean()) < 1
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        exact = np.sort(took)[int(np.ceil(share * took.size)) - 1]
        assert exact <= asks[f"latency_{name}_ns"] <= exact * 1.033


@pytest.mark.parametrize("aqm", ["none", "fq_codel"])
@pytest.mark.parametrize("way", [0, 1])
def test_the_queue_is_that_of_the_record(trials: dict[str, list[dict[str, Any]]], aqm: str, way: int) -> None:
    """Sojourns by the record's times; the octets by counting at each arrival what has not left."""
    row, prefix = trials[aqm][0], "reverse_" if way else ""
    table = parquet.read_table(row["folder"] / "box.parquet")
    rows = {
        name: np.asarray(table[name].to_numpy())
        for name in ("direction", "t_arrival_ns", "t_queue_exit_ns", "wire_len")
    }
    sent = (rows["direction"] == way) & (rows["t_queue_exit_ns"] >= 0)
    waited = np.sort((rows["t_queue_exit_ns"] - rows["t_arrival_ns"])[sent])
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)):
        assert row[f"{prefix}sojourn_{name}_ns"] == waited[int(np.ceil(share * waited.size)) - 1]
    line_ns = 1500 * 8e9 / RATE_BPS
    if aqm == "none":
        assert row[f"{prefix}sojourn_max_ns"] <= (QUEUE + 1) * line_ns, "no packet waits for more than the queue"
        assert row[f"{prefix}sojourn_p50_ns"] > 20 * line_ns, "and transfers keep it"
        assert row[f"{prefix}queued_max_bytes"] <= (QUEUE + 1) * 1500
    octets = (rows["wire_len"][sent] - LINK).astype(np.int64)
    spent_ns = (rows["t_queue_exit_ns"] - rows["t_arrival_ns"])[sent]
    lasted_ns = rows["t_queue_exit_ns"][sent].max() - rows["t_arrival_ns"][sent].min()
    assert octets.sum() * 8e9 / RATE_BPS <= lasted_ns, "what passed is no more than the line carries"
    if aqm == "none":  # no waiting packet is dropped, so Little's law holds for octets
        mean = float((octets * spent_ns).sum()) / lasted_ns
        assert row[f"{prefix}queued_mean_bytes"] == pytest.approx(mean, abs=1)


def test_flows_have_rates_both_ways_and_exchanges_are_none_of_them(trials: dict[str, list[dict[str, Any]]]) -> None:
    for aqm, rows in trials.items():
        table = parquet.read_table(rows[0]["folder"] / "flows.parquet").to_pylist()
        assert {(one["direction"], one["flow_name"]) for one in table} == {
            (way, name) for way in ("forward", "reverse") for name in ("main", "second")
        }
        payload = RATE_BPS * 1448 / 1500
        assert max(one["flows_bps"] for one in table) <= payload * 1.001, aqm
        for prefix in ("", "reverse_"):
            assert 0.8 * payload < rows[0][f"{prefix}flows_bps"] <= payload, (aqm, prefix)
            assert rows[0][f"{prefix}flow_jain_min"] <= 1
        assert rows[2]["flows_bps"] is None, "requests go both ways"


def test_responsiveness_is_what_fq_codel_is_for(trials: dict[str, list[dict[str, Any]]]) -> None:
    """A full queue of 200 packets both ways is 240 ms beyond 20. With a queue for each flow a request waits for the
    packets on both lines."""
    tail, fair = trials["none"][0], trials["fq_codel"][0]
    for row in (tail, fair):
        both = (row["responsiveness_foreign_rpm"] + row["responsiveness_loaded_rpm"]) / 2
        assert row["responsiveness_rpm"] == pytest.approx(both)
        assert row["responsiveness_confidence"] in ("medium", "high")
    assert 60_000 / (ROUND_MS + 245) < tail["responsiveness_foreign_rpm"] < 60_000 / (ROUND_MS + 60)
    assert 60_000 / (ROUND_MS + 6) < fair["responsiveness_foreign_rpm"] < 60_000 / ROUND_MS
    assert fair["responsiveness_loaded_rpm"] > 2 * tail["responsiveness_loaded_rpm"]
