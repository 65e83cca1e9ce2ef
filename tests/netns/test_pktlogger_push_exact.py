"""`pktlogger push` in virtual time: its rate, the delay that the sink sees, times of departure, gaps of a replay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import push_measures as measure
import pytest
from support.virtual import in_virtual_time, virtual

pytestmark = [pytest.mark.netns, *virtual]

EXACT = {"spin": "0", "poll": "0", "granularity": "0"}


@pytest.mark.parametrize(("pps", "duration"), [(1, "10s"), (200_000, "20ms")])
def test_the_rate_is_what_was_asked_for(pps: int, duration: str) -> None:
    path = EXACT | {"delay": "4.2ms"}
    push = ["--pps", str(pps), "--duration", duration, "--spin", "0", "--size", "200"]
    ends = in_virtual_time(measure.pushed, path=path, push=push, sink=[])
    sent, received = ends["push"], ends["sink"]
    assert sent["pps"] == pytest.approx(pps, rel=0.001)
    assert sent["packets"] == pytest.approx(pps * {"10s": 10, "20ms": 0.02}[duration])
    assert (received["received"], received["lost"], received["ended"]) == (sent["packets"], 0, True)
    assert received["pps"] == pytest.approx(pps, rel=0.001)
    assert received["delay_ns"]["p50"] == pytest.approx(4.2e6, rel=1 / 32 + 0.01)
    assert received["jitter_ns"] < 20_000


def test_the_queueing_discipline_sends_at_the_time() -> None:
    """Packets are handed over 5 ms ahead. A discipline that ignored their times would let them arrive before they were
    due."""
    push = ["--pps", "500", "--duration", "400ms", "--spin", "0", "--txtime"]
    ends = in_virtual_time(measure.pushed, path=EXACT | {"delay": "1ms"}, push=push, sink=[], fq=True)
    received = ends["sink"]
    assert (received["received"], received["negative_delays"]) == (200, 0)
    assert received["delay_min_ns"] == pytest.approx(1e6, abs=50_000)
    assert received["delay_ns"]["p99"] < 1.1e6


def test_a_replay_keeps_the_gaps(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    times = 10**18 + np.cumsum(draw.exponential(300_000, 800)).astype(int)
    capture = measure.write_capture(tmp_path / "c.pcap", times, draw.integers(60, 1500, 800))
    result = in_virtual_time(measure.replayed, capture=str(capture), spin="0")
    assert result["got"] == result["sent"] and result["push"]["padded"] > 700
    assert np.percentile(result["gap_errors_ns"], 90) < 50_000
