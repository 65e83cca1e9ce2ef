"""The time from a flow's beginning until it has its rate, and the shares of a gateway's classes of packets."""

from __future__ import annotations

import pytest

from scenarios.run import results
from scenarios.trial import rise

MS = 10**6


def intervals(*octets: int) -> list[list[int]]:
    """Intervals of 100 ms, each with its number of octets."""
    return [[n * 100 * MS, (n + 1) * 100 * MS, count] for n, count in enumerate(octets)]


def told(octets: tuple[int, ...], rtt_ms: int, later_ms: int = 0) -> int | None:
    receiver = {"intervals": intervals(*octets), "t0_monotonic_ns": 7 * MS + later_ms * MS}
    found: int | None = rise.columns({"rtt_ns": rtt_ms * MS}, receiver, 7 * MS)["rise_ns"]
    return found


def test_the_rate_is_there_when_nine_tenths_of_the_second_half_come_over_a_round_trip() -> None:
    assert told((10, 20, 40, 80, 100, 100, 100, 100, 100, 100), rtt_ms=100) == 500 * MS
    assert told((10, 20, 40, 90, 100, 100, 100, 100, 100, 100), rtt_ms=100) == 400 * MS
    assert told((100,) * 10, rtt_ms=100) == 100 * MS


def test_a_burst_shorter_than_a_round_trip_is_not_the_rate() -> None:
    burst = (0, 100, 0, 0, 0, 100, 100, 100, 100, 100)
    assert told(burst, rtt_ms=100) == 200 * MS
    assert told(burst, rtt_ms=300) == 800 * MS


def test_it_counts_from_the_senders_beginning() -> None:
    assert told((100,) * 10, rtt_ms=100, later_ms=40) == 140 * MS


def test_a_transfer_without_a_rate_has_no_such_time() -> None:
    assert told((100, 100, 0, 0, 0, 0), rtt_ms=100) is None
    assert rise.columns({}, {}, 7)["rise_ns"] is None


def test_the_classes_of_a_gateway_share_what_it_sent() -> None:
    octets = {"data": 900, "retransmission": 20, "redundant": 70, "ack": 10}
    near = {"engine": {"sent": {name: {"frames": 1, "wire_bytes": count} for name, count in octets.items()}}}
    found = results._of_gateways({"pair": 1}, {"cpu_ns": 5, "near": near})
    assert found.pop("cpu_gateways_ns") == 5
    assert found == pytest.approx({f"gateway_{name}_share": count / 1000 for name, count in octets.items()})
    assert results._of_gateways({"pair": 1}, {"cpu_ns": 5, "near": None}) == {"cpu_gateways_ns": 5}
    assert results._of_gateways({"pair": 1}, {}) == {"cpu_gateways_ns": None}
