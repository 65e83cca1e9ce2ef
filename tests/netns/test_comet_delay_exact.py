"""The delay box's times, in virtual time where nothing wakes up late: they equal the model's to some microseconds.

The box runs as on the real machine, over TAPs and veth pairs of a real kernel, except that it does not spin, which
would stop the clock. Each bound is what the box's own settings allow (`granularity`) plus the few microseconds that
reading the clock and the kernel's path take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import path_measures as measure
import pytest
from support.virtual import in_virtual_time, virtual
from udp_trains import TRAIN

pytestmark = [pytest.mark.netns, *virtual]

EXACT: dict[str, Any] = {"spin": "0", "poll": "0", "granularity": "0"}
CLOCK_NS = 30_000  # the first packet is 10 to 25 us late, all others less than 1 us
SLACK_MS = 0.03  # what the four wake-ups of a round trip may take


@pytest.mark.parametrize("measured", [measure.round_trips_ms, measure.attached_round_trips_ms])
def test_round_trip_is_twice_the_delay(measured: Callable[..., list[float]]) -> None:
    rtt_ms = np.array(in_virtual_time(measured, count=50, delay="4.2ms", **EXACT))
    assert len(rtt_ms) == 50
    assert rtt_ms.min() >= 8.4 and rtt_ms.max() <= 8.4 + SLACK_MS, rtt_ms


def test_granularity_is_all_that_is_added_each_way() -> None:
    rtt_ms = np.array(in_virtual_time(measure.round_trips_ms, count=50, delay="4.2ms", spin="0", granularity="60us"))
    assert rtt_ms.min() >= 8.4 and rtt_ms.max() <= 8.4 + 2 * 0.06 + SLACK_MS, rtt_ms


def test_a_delay_is_its_directions_own_and_a_changed_one_holds_from_the_next_packet() -> None:
    before_ms, after_ms = in_virtual_time(
        measure.round_trips_around_a_change_ms, change={"ab-delay": "30ms"}, ab_delay="1ms", ba_delay="2ms", **EXACT
    )
    assert min(before_ms) >= 3 and max(before_ms) <= 3 + SLACK_MS, before_ms
    assert min(after_ms) >= 32 and max(after_ms) <= 32 + SLACK_MS, after_ms


@pytest.mark.parametrize(
    ("options", "rate_bps"),
    [
        ({"ab_rate": "10Mbit"}, 10e6),
        ({"ab_rate": "100Mbit"}, 100e6),
        ({"ab_pace": "10Mbit"}, 10e6),
        ({"ab_pace_packets": "1000"}, measure.PACKET_BITS * 1000),
    ],
    ids=str,
)
def test_packets_of_a_super_packet_are_spaced_by_their_serialisation_time(
    options: dict[str, Any], rate_bps: float
) -> None:
    found = in_virtual_time(measure.train_arrivals, trains=10, **(EXACT | options))
    assert found["numbers"] == list(range(10 * TRAIN)) and found["verdict"]["valid"], found["verdict"]
    times_ns, packet_ns = np.array(found["times_ns"]), measure.PACKET_BITS / rate_bps * 1e9
    error_ns = np.diff(times_ns) - packet_ns
    assert np.abs(error_ns).max() <= CLOCK_NS, error_ns
    whole_ns = times_ns[-1] - times_ns[0]
    assert whole_ns == pytest.approx((10 * TRAIN - 1) * packet_ns, abs=CLOCK_NS), "errors add up"


def test_lateness_that_was_asked_for_is_no_fault() -> None:
    found = in_virtual_time(measure.train_arrivals, ab_rate="10Mbit", spin="0", poll="10ms")
    assert found["numbers"] == list(range(4 * TRAIN))
    assert 1_000_000 < found["lateness"]["p90_ns"] <= 10_000_000, "a fault, had it not been asked for"
    assert found["verdict"] == {"valid": True, "reasons": []}
