"""recovery_ns: the time from the end of the last outage until the receiver has its earlier rate again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netcommon import binaries
from netcommon.errors import UsageError
from scenarios.plan import params, profiles
from scenarios.plan.plan import load_plan
from scenarios.trial import recovery, transfer_tool

MS, S = 10**6, 10**9
STEP = 100 * MS


def intervals(*stretches: tuple[int, int]) -> list[list[int]]:
    """Stretches of (number of intervals of 100 ms, bytes in each)."""
    amounts = [amount for count, amount in stretches for _ in range(count)]
    return [[n * STEP, (n + 1) * STEP, amount] for n, amount in enumerate(amounts)]


def recovered(found: list[list[int]], loss: str = "time:6s-7s,8s-10s") -> int | None:
    """The box began 1 s before the receiver: its outages are from 5 s to 9 s in the intervals' time."""
    return recovery.of_trial(
        {"loss": loss},
        {"intervals": found, "t0_monotonic_ns": 101 * S},
        {"clock": {"monotonic_ns": 100 * S, "realtime_ns": 0}},
    )


def test_recovery_counts_from_the_end_of_the_last_outage_to_nine_tenths_of_the_earlier_rate() -> None:
    slow_start, full, outages = (20, 10), (30, 1000), (40, 0)
    assert recovered(intervals(slow_start, full, outages, (20, 900))) == 0
    assert recovered(intervals(slow_start, full, outages, (25, 300), (20, 900))) == 2500 * MS
    assert recovered(intervals(slow_start, full, outages, (60, 880))) is None


def test_a_moment_in_which_a_repaired_hole_lets_much_through_is_no_recovery() -> None:
    found = intervals((50, 1000), (40, 0), (5, 0), (1, 3000), (30, 100), (20, 1000))
    assert recovered(found) == 3500 * MS  # nine of the ten intervals of that second have the whole rate


def test_without_outages_or_the_moments_there_is_no_recovery_time() -> None:
    found = intervals((100, 1000))
    assert recovered(found, "0.1%") is None and recovered(found, "") is None
    assert recovered([]) is None and recovered(found, "time:0s-1s") is None
    assert recovery.of_trial({"loss": "time:6s-7s"}, {"intervals": found, "t0_monotonic_ns": 0}, {}) is None


def test_the_interval_is_the_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "find", lambda name: Path("/tools") / name)

    def sender(**transfer: Any) -> list[str]:
        sets = [f"transfer.{key}={value}" for key, value in transfer.items()]
        trial = load_plan("lsr-bunch", overrides=sets).trials[0]
        assert params.of(trial)["interval_ns"] == 50 * MS
        return transfer_tool.commands(trial.setting, profiles.load("modern"), "10.0.0.1", tmp_path).sender

    line = sender(interval="50ms")
    assert line[line.index("--interval") + 1] == "50000000ns"
    with pytest.raises(UsageError, match=r"transfer\.interval = '50ms': iperf3"):
        sender(interval="50ms", tool="iperf3", pace="0")
