"""A measured timeline, samples and packets on one axis: the sender's TCP_INFO matches its packets in time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.virtual import virtual

from dashboard.core.runs import load_run
from dashboard.timeline import timeline
from dashboard.timeline.figure import timeline_figure
from lfp import cli

MARGIN_S = 0.2  # samples before the first segment, a bin of the rates
SCENARIO = """
[scenario]
name = "axis"
[path]
delay = "10ms"
rate = "20Mbit"
[transfer]
bytes = "2MB"
[capture]
points = "all"
"""


@pytest.mark.netns
@pytest.mark.parametrize("kind", ["real", pytest.param("virtual", marks=virtual)])
def test_every_series_lies_within_the_transfer(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "axis.toml"
    file.write_text(SCENARIO)
    assert cli.run(["run", str(file), "--time", kind, "--runs-dir", str(tmp_path / "runs")]) == 0
    run = load_run(next((tmp_path / "runs").iterdir()))
    found = timeline.load(run, run.trial(0))
    length = found.duration_ns / 1e9
    series = {
        str(trace.name): np.asarray(trace.x, float) for trace in timeline_figure(found, (0, found.duration_ns)).data
    }
    assert series["cwnd (TCP_INFO)"].size > 10, "samples every 10 ms of about a second"
    for name, with_gaps in series.items():
        x = with_gaps[~np.isnan(with_gaps)]
        assert x.min() >= -MARGIN_S and x.max() <= length + MARGIN_S, f"{name}: {x.min()} to {x.max()}"
