"""The dashboard reads the synthetic trial of `dashboard.zoom` like a real one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench.registry import load
from bench.zoom import columns
from dashboard.core.runs import load_run
from dashboard.timeline import timeline


def test_it_is_listed() -> None:
    assert "dashboard.zoom" in load()


def test_the_trial_has_the_rate_the_round_trip_and_the_losses_that_it_says(tmp_path: Path) -> None:
    run = load_run(columns.write(tmp_path, 50_000))
    trial = run.trial(0)
    assert run.verdict.valid and trial.captured and trial.verdict.valid
    loaded = timeline.load(run, trial)
    assert [rows.size for rows in loaded.sent_rows] == [50_000, 50, 0, 0, 0] and loaded.lost_rows.size == 50
    bits = 50_000 * columns.WIRE_BYTES * 8
    assert abs(bits / (loaded.sent_ns[loaded.kind == 0][-1] / 1e9) / columns.RATE_BPS - 1) < 1e-3
    assert (
        loaded.rtt.value.min() >= columns.RTT_NS and loaded.rtt.value.max() <= columns.RTT_NS + columns.QUEUE_NS + 10**5
    )
    assert np.all(np.diff(loaded.ack_ns) >= 0) and loaded.visits == () and loaded.cwnd.value.size > 10
