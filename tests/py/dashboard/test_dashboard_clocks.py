"""Every series of a timeline lies within its time axis, in real and in virtual time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import synthetic_gateway, synthetic_run, synthetic_slow

from dashboard.core.runs import load_run
from dashboard.report.html import render
from dashboard.server.app import Runs, page_at
from dashboard.timeline import timeline
from dashboard.timeline.figure import timeline_figure
from dashboard.timeline.timeline import Timeline

MARGIN = 0.05  # share of the trial's length that rates and early samples may exceed it
WRITERS = {
    "real": synthetic_run.seqack,
    "virtual": lambda parent: synthetic_run.seqack(parent, virtual=True),
    "gateway": synthetic_gateway.gateway,
    "virtual gateway": lambda parent: synthetic_gateway.gateway(parent, virtual=True),
    "boxed": synthetic_gateway.boxed,
    "slow": synthetic_slow.slow,
}


def loaded(path: Path) -> Timeline:
    run = load_run(path)
    return timeline.load(run, run.trial(0))


def without_trial_clocks(path: Path) -> Path:
    """The run as it was written before trials recorded their own clocks."""
    for file in path.glob("trials/*/status.json"):
        status = json.loads(file.read_text())
        del status["clock"]
        file.write_text(json.dumps(status))
    return path


def cwnd_of(found: Timeline) -> Any:
    figure = timeline_figure(found, (0, found.duration_ns))
    return next((trace for trace in figure.data if trace.name == "cwnd (TCP_INFO)"), None)


@pytest.mark.parametrize("kind", WRITERS)
def test_every_series_lies_within_the_time_axis(tmp_path: Path, kind: str) -> None:
    found = loaded(WRITERS[kind](tmp_path))
    figure = timeline_figure(found, (0, found.duration_ns))
    length = found.duration_ns / 1e9
    assert length > 0
    for trace in figure.data:
        x = np.asarray(trace.x, dtype=float)
        assert x.size, f"{trace.name}: nothing drawn"
        assert x.min() >= -MARGIN * length and x.max() <= (1 + MARGIN) * length, f"{trace.name}: {x.min()} to {x.max()}"
    cwnd = cwnd_of(found)
    assert cwnd is not None and len(cwnd.x) > 10 and max(cwnd.x) - min(cwnd.x) > 0.8 * length
    assert found.notes == ()


def test_an_old_run_in_real_time_has_the_manifests_pair(tmp_path: Path) -> None:
    old = without_trial_clocks(synthetic_run.seqack(tmp_path))
    assert load_run(old).trial(0).realtime_offset_ns == synthetic_run.STARTED_NS - synthetic_run.MONOTONIC_NS
    assert cwnd_of(loaded(old)) is not None


def test_an_old_run_in_virtual_time_leaves_cwnd_out_and_says_so(tmp_path: Path) -> None:
    """The manifest's pair of clocks is the host's. With that pair a point was drawn at x = 28,087,578 s."""
    old = without_trial_clocks(synthetic_run.seqack(tmp_path, virtual=True))
    found = loaded(old)
    assert cwnd_of(found) is None
    (note,) = found.notes
    assert "congestion window is left out" in note
    assert note in str(page_at(Runs(tmp_path), f"/run/{old.name}/trial/0")) and note in render(load_run(old))
