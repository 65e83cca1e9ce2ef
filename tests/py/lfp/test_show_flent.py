"""lfp show --flent: a trial as Flent reads it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner

from lfp.commands.show import command
from netcommon.errors import LfpError

CLOCK = {"realtime_ns": 1_700_000_000 * 10**9, "monotonic_ns": 50 * 10**9}
MBIT = 10**6 / 8


def samples(file: Path, *rates_mbit: float) -> None:
    """Two seconds of TCP_INFO every 50 ms, a stream for each rate; a rate of 0 is a stream that only receives."""
    file.parent.mkdir(parents=True, exist_ok=True)
    t_s = np.arange(0, 2.001, 0.05)
    columns = {
        "t_ns": np.concatenate([CLOCK["monotonic_ns"] + (t_s * 1e9).astype(np.int64)] * len(rates_mbit)),
        "stream": np.repeat(np.arange(len(rates_mbit)), t_s.size),
        "bytes_acked": np.concatenate([(t_s * rate * MBIT).astype(np.int64) + 1 for rate in rates_mbit]),
    }
    parquet.write_table(pa.table(columns), file)


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "one-20260101T000000-abcdef" / "trials" / "0000"
    samples(folder / "tcp_info.parquet", 40, 0)
    (folder.parents[1] / "manifest.json").write_text(json.dumps({"v": 2, "name": "one", "title": "One transfer"}))
    for name, content in (("params", {"trial": 0}), ("status", {"clock": CLOCK, "state": "done"}), ("transfer", {})):
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def written(trial: Path) -> dict[str, Any]:
    target = trial.parents[3] / "new" / "flent"
    done = CliRunner().invoke(command, [str(trial.parents[1]), "--flent", str(target)], catch_exceptions=False)
    (file,) = target.iterdir()
    assert done.output.split() == [str(file)] and file.name == "one-20260101T000000-abcdef-0000.flent.gz"
    found: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
    assert found["version"] == 4 and {len(values) for values in found["results"].values()} == {len(found["x_values"])}
    return found


def test_one_way_is_tcp_nup(trial: Path) -> None:
    found = written(trial)
    assert found["metadata"]["NAME"] == "tcp_nup" and found["metadata"]["T0"] == "2023-11-14T22:13:20.000000Z"
    assert found["metadata"]["TEST_PARAMETERS"]["upload_streams"] == "1", "a stream that sent nothing is not one"
    assert found["x_values"] == pytest.approx(np.arange(1, 11) * 0.2)
    assert found["results"]["TCP upload::1"] == pytest.approx([40] * 10, abs=0.01)
    assert found["raw_values"]["TCP upload::1"][0]["t"] == pytest.approx(1_700_000_000.2)


def test_both_ways_with_requests_are_the_response_under_load(trial: Path) -> None:
    samples(trial / "flows" / "second" / "tcp_info.parquet", 10, 0)
    samples(trial / "flows" / "asks" / "tcp_info.parquet", 1)
    samples(trial / "reverse" / "tcp_info.parquet", 20)
    samples(trial / "reverse" / "flows" / "asks" / "tcp_info.parquet", 1)
    t_ns = CLOCK["monotonic_ns"] + np.asarray([0.1, 0.15, 0.7]) * 1e9
    asked = {"t_ns": t_ns.astype(np.int64), "stream": [0] * 3, "latency_ns": [40 * 10**6, 60 * 10**6, 90 * 10**6]}
    parquet.write_table(pa.table(asked), trial / "flows" / "asks" / "latencies.parquet")
    found = written(trial)
    parameters = found["metadata"]["TEST_PARAMETERS"]
    assert found["metadata"]["NAME"] == "rrul_be_nflows"
    assert (parameters["upload_streams"], parameters["download_streams"]) == ("2", "1")
    assert found["results"]["TCP upload sum"] == pytest.approx([50] * 10, abs=0.01)
    assert found["results"]["TCP download BE::1"] == pytest.approx([20] * 10, abs=0.01)
    assert found["results"]["Ping (ms) ICMP"] == [50.0, None, None, 90.0, *[None] * 6]


def test_a_run_without_samples_is_named(trial: Path) -> None:
    (trial / "tcp_info.parquet").unlink()
    done = CliRunner().invoke(command, [str(trial.parents[1]), "--flent", str(trial.parents[3] / "flent")])
    assert isinstance(done.exception, LfpError) and "has samples of TCP_INFO" in str(done.exception)
