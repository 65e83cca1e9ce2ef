"""Responsiveness under working conditions: the arithmetic of draft-ietf-ippm-responsiveness."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from scenarios.statistics import responsiveness
from scenarios.trial import latencies

S, MS = 10**9, 10**6


def even(values_ms: Sequence[float], a_second: int = 10) -> responsiveness.Timed:
    """Samples at even distances: each second has ``a_second`` samples of its value."""
    t = np.arange(len(values_ms) * a_second) * S // a_second
    return t, np.repeat(np.asarray(values_ms) * MS, a_second).astype(np.int64)


def load(goodput: list[float]) -> list[Any]:
    return [np.concatenate([[0.0], np.cumsum(goodput)])]


def of(exchanges: responsiveness.Timed, trips: responsiveness.Timed, goodput: list[float]) -> dict[str, Any]:
    return responsiveness.of(exchanges, trips, load(goodput), 0, len(goodput) * S)


def test_a_trimmed_mean_leaves_out_the_largest_twentieth() -> None:
    values = np.asarray([1000] * 5 + [10] * 95)
    assert responsiveness.trimmed_mean(values) == 10
    assert responsiveness.trimmed_mean(np.asarray([7])) == 7
    assert responsiveness.trimmed_mean(np.asarray([])) is None


def test_steady_conditions_give_the_mean_of_both_responsivenesses() -> None:
    """60 s over 100 ms, and 60 s over 50 ms."""
    found = of(even([100] * 10), even([50] * 10), [1e6] * 10)
    assert found == {
        "responsiveness_rpm": pytest.approx(900),
        "responsiveness_foreign_rpm": pytest.approx(600),
        "responsiveness_loaded_rpm": pytest.approx(1200),
        "responsiveness_confidence": "high",
    }


def test_the_result_is_of_the_first_stable_interval() -> None:
    """Goodput is stable from the seventh interval on; what becomes of the latency after that is another test's."""
    found = of(even([100] * 8 + [500] * 12), even([100] * 8 + [500] * 12), [1e6] * 20)
    assert found["responsiveness_rpm"] == pytest.approx(600) and found["responsiveness_confidence"] == "high"


def test_without_stability_the_last_interval_counts_with_less_confidence() -> None:
    growing = [20.0 * 2**n for n in range(9)]
    found = of(even(growing), even(growing), [1e6] * 9)
    last = np.repeat(growing[-4:], 10)
    assert found["responsiveness_rpm"] == pytest.approx(60_000 / np.sort(last)[:38].mean())
    assert found["responsiveness_confidence"] == "medium"
    assert of(even([50] * 3), even([50] * 3), [1e6] * 3)["responsiveness_confidence"] == "low"
    swaying = [1e6, 3e6] * 2 + [9e6, 27e6, 81e6] + [1e6]
    assert of(even([50] * 8), even([50] * 8), swaying)["responsiveness_confidence"] == "medium"


def test_one_half_alone_gives_no_whole() -> None:
    nothing = np.empty(0, np.int64)
    found = of(even([100] * 10), (nothing, nothing), [1e6] * 10)
    assert found["responsiveness_rpm"] is None and found["responsiveness_foreign_rpm"] == pytest.approx(600)
    assert of((nothing, nothing), even([100] * 10), [1e6] * 10) == {}


def trial(folder: Path, *, gateway: str = "none") -> None:
    """Writes a trial with a bulk flow of 12 s, whose RTT is 80 ms, and a flow of exchanges that take 100 ms each."""
    rows = [[n * S, (n + 1) * S, 10**6] for n in range(12)]
    receiver = {"t0_monotonic_ns": 5 * S, "intervals": rows}
    sender = {"t0_monotonic_ns": 5 * S, "streams": [{"stream": 0}]}
    asks = {"summary": {"exchange": {"exchanges": 100}}, "sender": sender, "receiver": receiver}
    files = {
        "params": {"flow_name": "main", "gateway": gateway},
        "flows": [{"flow": 1, "flow_name": "asks", "request_bytes": 1}],
        "transfer": {"summary": {}, "sender": sender, "receiver": receiver, "flows": {"asks": asks}},
    }
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    own = folder / "flows" / "asks"
    own.mkdir(parents=True)
    began = 5 * S + np.arange(110) * 100 * MS
    table = {"t_ns": began, "stream": np.zeros(110, np.int64), "latency_ns": np.full(110, 100 * MS)}
    parquet.write_table(pa.table(table), own / "latencies.parquet")
    t = 5 * S + np.arange(1200) * 10 * MS
    samples = {"t_ns": t, "stream": t * 0, "rtt_us": np.full(1200, 80_000), "bytes_acked": np.arange(1200)}
    parquet.write_table(pa.table(samples), folder / "tcp_info.parquet")


def test_a_trials_exchanges_and_the_rtts_of_its_load_are_put_together(tmp_path: Path) -> None:
    trial(tmp_path)
    found = latencies.columns(tmp_path)
    assert found["responsiveness_foreign_rpm"] == pytest.approx(600)
    assert found["responsiveness_loaded_rpm"] == pytest.approx(750)
    assert found["responsiveness_rpm"] == pytest.approx(675) and found["responsiveness_confidence"] == "high"


def test_a_load_whose_connections_end_at_a_gateway_has_no_rtt_of_the_path(tmp_path: Path) -> None:
    trial(tmp_path, gateway="lft")
    found = latencies.columns(tmp_path)
    assert found["responsiveness_rpm"] is None and found["responsiveness_foreign_rpm"] == pytest.approx(600)


def test_without_exchanges_or_without_load_there_is_none(tmp_path: Path) -> None:
    trial(tmp_path)
    (tmp_path / "flows" / "asks" / "latencies.parquet").unlink()
    assert latencies.columns(tmp_path) == {}
    (tmp_path / "flows.json").unlink()
    transfer = json.loads((tmp_path / "transfer.json").read_text())
    (tmp_path / "transfer.json").write_text(json.dumps(transfer["flows"]["asks"]))
    parquet.write_table(pa.table({"t_ns": [0], "stream": [0], "latency_ns": [5]}), tmp_path / "latencies.parquet")
    assert latencies.columns(tmp_path) == {}
