"""A trial's capture keeps all headers and no data: with data its tables are the same."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from netcommon.ledger import Ledger
from scenarios.plan.plan import load_plan
from scenarios.trial import trial
from scenarios.virtual import engine, kernel

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]

# Losses of single packets, for SACK blocks that fill the header's options
SCENARIO = """
[scenario]
name = "headers"
[path]
delay = "10ms"
rate = "50Mbit"
loss = "5%"
[transfer]
bytes = "3MB"
[capture]
points = ["snd", "rcv"]
"""


def captured(tmp_path: Path, name: str, *overrides: str) -> Path:
    path, folder = tmp_path / "headers.toml", tmp_path / name
    path.write_text(SCENARIO)
    (folder / "trials").mkdir(parents=True)
    (one,) = load_plan(str(path), overrides=list(overrides), seed=1).trials
    with Ledger.open() as ledger:
        engine.run_all(folder, [one], ledger, 1, "auto", lambda _: None)
    return trial.folder_of(folder, one.number)


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_data_would_change_nothing(tmp_path: Path, family: str) -> None:
    own = captured(tmp_path, "own", f"transfer.family={family}")
    whole = captured(tmp_path, "whole", f"transfer.family={family}", "capture.snap=2KB")
    assert parquet.read_table(own / "acks.parquet").num_rows > 1000
    for table in ("segments", "acks", "losses", "limits", "events"):
        tables = [parquet.read_table(folder / f"{table}.parquet") for folder in (own, whole)]
        assert tables[0].equals(tables[1]), table
    sizes = [(folder / "capture" / "snd.pcapng").stat().st_size for folder in (own, whole)]
    assert sizes[0] < sizes[1] / 4
