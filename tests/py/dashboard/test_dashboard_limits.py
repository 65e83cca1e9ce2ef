"""What limited the sender: every cause has words and a colour of its own, and the headline says what the hosts did."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import synthetic_slow

from dashboard.core.runs import load_run
from dashboard.timeline import timeline
from dashboard.timeline.figure import headline, timeline_figure
from dashboard.timeline.limits import Limits
from dashboard.timeline.timeline import Timeline
from scenarios.plan.causes import ALL_LIMITS

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    run = load_run(synthetic_slow.slow(tmp_path_factory.mktemp("runs")))
    return timeline.load(run, run.trial(0))


def test_an_even_transfer_that_a_host_held_back_says_so(tmp_path: Path) -> None:
    run = load_run(synthetic_slow.slow(tmp_path, dips=False))
    even = limited(timeline.load(run, run.trial(0)), send_buffer=1.0)
    said = "No stops. Limited by the send buffer for 100 % of the time. No span is much slower than the rest"
    assert headline(even) == said


def limited(slow: Timeline, **shares: float) -> Timeline:
    """The transfer, limited by these causes one after the other."""
    ends = (np.cumsum(list(shares.values())) * slow.duration_ns).astype(np.int64)
    starts, names = np.concatenate([[0], ends[:-1]]), tuple(ALL_LIMITS)
    return replace(
        slow, limits=Limits(starts, ends, np.asarray([names.index(name) for name in shares], np.uint8), names)
    )


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ({"slow_start": 0.08, "send_buffer": 0.92}, "No stops. Limited by the send buffer for 92 % of the time. "),
        (
            {"receiver_window": 0.6, "path_rate": 0.4},
            "No stops. Limited by the receiver's window for 60 % of the time. ",
        ),
        (
            {"application": 0.51, "path_rate": 0.49},
            "No stops. Limited by the application, which had nothing to send, for 51 % of the time. ",
        ),
        ({"send_buffer": 0.49, "path_rate": 0.51}, "No stops. Slowest span: "),
        ({"pacing": 1.0}, "No stops. Slowest span: "),
    ],
)
def test_the_headline_says_first_which_host_held_the_transfer_back(
    slow: Timeline, shares: dict[str, float], said: str
) -> None:
    """A host's limit explains a slow transfer. A reader expects path and congestion control to limit it."""
    one = limited(slow, **shares)
    assert headline(one).startswith(said) and "Slowest span: " in headline(one)
    assert str(timeline_figure(one).layout.title.text).startswith(said)
