"""pktlogger's limits of a sender against its kernel's records: equal accounts agree, and a wrong cause is found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.invariants import oracle
from bench.invariants.oracle import Comparison
from scenarios.virtual import waits
from scenarios.virtual.waits import Flag, Records, State, Why

S, MS = 1_000_000_000, 1_000_000
RTT_MS, EVERY_MS = 40, 10
NAMES = np.array(list(oracle.SAID))


def kernel(*spans: tuple[float, Why, dict[str, int]]) -> Records:
    """The kernel's records, one every 10 ms. A span is its end in seconds, what TCP waits for, and other fields."""
    found, at_ns = [], 0
    for until_s, why, more in spans:
        while at_ns < until_s * S:
            one = np.zeros(1, waits.RECORD)
            own = {"mss": 1448, "cwnd": 100, "flight": 50, "room": 10**6, "rtt_us": RTT_MS * 1000, "una": at_ns // MS}
            own |= {"next": own["una"] + 1, "t_ns": at_ns, "why": why, "unsent": 0 if why == Why.EMPTY else 10**6}
            for name, value in (own | more).items():
                one[name] = value
            found.append(one)
            at_ns += EVERY_MS * MS
    return np.concatenate(found)


def compared(
    records: Records, *spans: tuple[float, str], apart_ns: float = 0, sampled_ns: NDArray[np.int64] | None = None
) -> Comparison:
    ends = np.array([round(until_s * S) for until_s, _ in spans])
    causes = np.array([NAMES.tolist().index(name) for _, name in spans])
    limits = {"t0_ns": np.concatenate(([0], ends[:-1])), "t1_ns": ends, "cause": causes}
    return oracle.compare(oracle.account(records, int(ends[-1])), limits, NAMES, apart_ns, sampled_ns)


BLOCKED = {"flags": int(Flag.BLOCKED)}
MIXED: tuple[tuple[float, Why, dict[str, int]], ...] = (
    (1, Why.CWND, {"flight": 100}),
    (2, Why.EMPTY, BLOCKED),
    (3, Why.WINDOW, {"room": 0}),
    (4, Why.EMPTY, {}),
)


def test_an_account_that_is_late_by_less_than_a_round_trip_is_right() -> None:
    found = compared(
        kernel(*MIXED), (1.02, "slow_start"), (1.98, "send_buffer"), (3.02, "receiver_window"), (4, "application")
    )
    assert found.wrong_s == {}
    assert found.kernel_s == pytest.approx({"congestion": 1, "send_buffer": 1, "window": 1, "application": 1})


def test_a_cause_that_the_kernel_does_not_have_is_found_for_as_long_as_it_is_wrong() -> None:
    found = compared(kernel(*MIXED), (2, "congestion_avoidance"), (3, "receiver_window"), (4, "send_buffer"))
    assert set(found.wrong_s) == {("congestion_avoidance", "send_buffer"), ("send_buffer", "application")}
    for (_, group), begin_s in ((("", "send_buffer"), 1.0), (("", "application"), 3.0)):
        pair = next(one for one in found.wrong_s if one[1] == group)
        assert 1 - 2 * RTT_MS / 1000 <= found.wrong_s[pair] <= 1 + 1e-9
        assert begin_s <= found.wrong_at_s[pair] <= begin_s + 2 * RTT_MS / 1000
    assert sum(found.wrong_s.values()) > found.bound_s == RTT_MS / 1000


def test_where_two_things_hold_a_sender_either_is_right() -> None:
    full = {"flight": 100}
    both = kernel((1, Why.EMPTY, BLOCKED | full), (2, Why.CWND, full | {"room": 100}), (3, Why.EMPTY, BLOCKED))
    for first, second, third in (("send_buffer", "receiver_window", "path_rate"), ("slow_start", "ecn", "send_buffer")):
        assert compared(both, (1, first), (2, second), (3, third)).wrong_s == {}
    assert compared(both, (1, "application"), (3, "path_rate")).wrong_s


def test_the_wait_for_a_timeout_belongs_to_the_recovery() -> None:
    stalled = {"next": 8, "una": 7}
    records = kernel(
        (1, Why.CWND, {"flight": 100}),
        (1.5, Why.EMPTY, stalled),
        (2, Why.CWND, {"state": State.LOSS}),
        (3, Why.CWND, {"flight": 100}),
    )
    assert compared(records, (1, "slow_start"), (2, "timeout"), (3, "slow_start")).wrong_s == {}
    assert compared(records, (1, "timeout"), (3, "slow_start")).wrong_s.keys() == {("timeout", "congestion")}


def test_a_cause_may_be_as_late_as_samples_are_apart() -> None:
    late = ((1.1, "slow_start"), (2, "send_buffer"), (3, "receiver_window"), (4, "application"))
    assert compared(kernel(*MIXED), *late).wrong_s == {("slow_start", "send_buffer"): pytest.approx(0.07, abs=0.02)}
    assert compared(kernel(*MIXED), *late, apart_ns=200 * MS).wrong_s == {}


@pytest.mark.parametrize(("wrong_ms", "within"), [(8, True), (12, False)])
def test_one_sample_stands_for_the_distance_to_the_next(wrong_ms: int, within: bool) -> None:
    """A round trip of 2 ms, and samples 10 ms apart: a sample that finds nothing to send stands for 10 ms."""
    records = kernel((1, Why.CWND, {"flight": 100, "rtt_us": 2000, "next": 0}))  # all is acknowledged at once
    said = (0.5, "congestion_avoidance"), (0.5 + wrong_ms / 1000, "application"), (1, "congestion_avoidance")
    found = compared(records, *said, apart_ns=10 * MS)
    assert found.bound_s == 0.01 and compared(records, *said).bound_s == 0.002
    assert found.wrong_s == {("application", "congestion"): pytest.approx(wrong_ms / 1000)}
    assert (sum(found.wrong_s.values()) <= found.bound_s) == within


def test_what_the_kernel_has_at_a_sample_is_right_until_the_next_one() -> None:
    """A program writes every 100 ms and waits for 20 ms each time. Every second sample finds it waiting, or none
    does."""
    full, waits = (Why.CWND, {"flight": 100, "rtt_us": 2000}), (Why.EMPTY, {"rtt_us": 2000})
    records = kernel(*(one for at in range(10) for one in ((at / 10 + 0.08, *full), (at / 10 + 0.1, *waits))))
    said = tuple(one for at in range(10) for one in ((at / 10 + 0.03, "slow_start"), (at / 10 + 0.1, "application")))
    seen = np.arange(20, 1000, 50) * MS
    assert sum(compared(records, *said, apart_ns=50 * MS, sampled_ns=seen).wrong_s.values()) > 0.3, "none is idle"
    assert compared(records, *said, apart_ns=50 * MS, sampled_ns=seen + 20 * MS).wrong_s == {}


@pytest.mark.parametrize(("answer_ms", "bound_ms"), [(30, 40), (60, 60), (110, 80)])
def test_a_round_lasts_until_it_is_acknowledged(answer_ms: int, bound_ms: int) -> None:
    """The path has become longer than the smoothed round-trip time of 40 ms: each octet is acknowledged later."""
    found = kernel((1, Why.CWND, {"flight": 100}))
    found["next"] = found["una"] + answer_ms
    assert compared(found, (1, "slow_start")).bound_s == bound_ms / 1000
    found["state"][1::2] = State.RECOVERY
    assert compared(found, (1, "slow_start")).bound_s == RTT_MS / 1000, "an answer to a repair is no round trip"


def test_recoveries_excuse_nothing_behind_them() -> None:
    full, repairs = {"flight": 100}, {"flight": 100, "state": State.RECOVERY}
    records = kernel(
        (1, Why.CWND, full),
        (1.2, Why.CWND, repairs),
        (2, Why.CWND, full),
        (2.2, Why.CWND, repairs),
        (3, Why.CWND, full),
    )
    late = ((1, "slow_start"), (1.2, "fast_recovery"), (1.5, "congestion_avoidance"), (1.6, "application"))
    found = compared(records, *late, (3, "congestion_avoidance"))
    assert found.wrong_s == {("application", "congestion"): pytest.approx(0.1)} and found.bound_s < 0.1


def test_a_kernel_that_awaits_an_answer_to_the_last_octets_writes_nothing_until_it_comes() -> None:
    stalled = {"next": 8, "una": 7}
    records = kernel((1, Why.CWND, {"flight": 100}), (1.02, Why.EMPTY, stalled))
    assert compared(records, (1, "slow_start"), (1.3, "fast_recovery")).wrong_s == {}
    acknowledged = kernel((1, Why.CWND, {"flight": 100}), (1.02, Why.EMPTY, {"next": 8, "una": 8}))
    assert compared(acknowledged, (1, "slow_start"), (1.3, "fast_recovery")).wrong_s


def test_a_pace_of_the_programs_is_not_the_congestion_controls() -> None:
    by_itself = kernel((1, Why.PACING, {"flags": int(Flag.PACED)}))
    assert compared(by_itself, (1, "congestion_avoidance")).wrong_s == {}
    by_program = kernel((1, Why.PACING, {"flags": int(Flag.PACED | Flag.BY_PROGRAM)}))
    assert compared(by_program, (1, "congestion_avoidance")).wrong_s
    assert compared(by_program, (1, "pacing")).wrong_s == {}


@pytest.mark.parametrize("kept", [0, 100, -1])
def test_a_file_that_breaks_off_is_not_read(tmp_path: Path, kept: int) -> None:
    last = np.zeros(1, waits.RECORD)
    last["why"] = Why.END
    whole = np.concatenate((kernel((1, Why.CWND, {})), last)).tobytes()
    (tmp_path / "whole").write_bytes(whole)
    (tmp_path / "part").write_bytes(whole[:kept])
    found = waits.load(tmp_path / "whole")
    assert found is not None and len(found) == 100
    assert waits.load(tmp_path / "part") is None and waits.load(tmp_path / "none") is None
