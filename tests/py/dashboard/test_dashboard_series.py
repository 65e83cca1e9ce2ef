"""Bytes in flight, rates and thinning: hand-made examples whose right answer can be counted on fingers."""

from __future__ import annotations

import numpy as np
import pytest

from dashboard.core.downsample import aggregate, inside, thin, visible, with_corners
from dashboard.core.levels import Points
from dashboard.core.series import nice_bin_ns, unacknowledged_bytes
from dashboard.timeline.stream import APART, Stream


def arr(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_in_flight_rises_with_sending_and_falls_with_acks() -> None:
    """Three segments of 100 bytes at 0, 10, 20; ACKs of 101 at 15 and 301 at 30."""
    found = unacknowledged_bytes(arr(0, 10, 20), arr(1, 101, 201), arr(101, 201, 301), arr(15, 30), arr(101, 301))
    assert found.t_ns.tolist() == [0, 10, 15, 20, 30]
    assert found.value.tolist() == [100, 200, 100, 200, 0]


def test_a_retransmission_adds_nothing_in_flight() -> None:
    found = unacknowledged_bytes(arr(0, 10, 50), arr(1, 101, 1), arr(101, 201, 101), arr(60), arr(201))
    assert found.value.tolist() == [100, 200, 200, 0]


def test_reordered_and_duplicate_acks_never_raise_what_is_in_flight() -> None:
    found = unacknowledged_bytes(arr(0, 1), arr(1, 101), arr(101, 201), arr(5, 6, 7), arr(201, 101, 202))
    assert found.value.tolist() == [100, 200, 0, 0, 0]


def test_an_ack_at_the_instant_of_sending_counts_first() -> None:
    found = unacknowledged_bytes(arr(0, 10), arr(1, 101), arr(101, 201), arr(10), arr(101))
    assert found.t_ns.tolist() == [0, 10, 10]
    assert found.value.tolist() == [100, 0, 100]


def test_in_flight_equals_a_plain_recount_on_random_traffic() -> None:
    seed = 20250101
    rng = np.random.default_rng(seed)
    sent = np.sort(rng.integers(0, 5000, 300))
    end = 1 + 10 * (1 + np.arange(300))
    ack_t = np.sort(rng.integers(0, 6000, 200))
    ack = np.sort(rng.choice(end, 200))
    found = unacknowledged_bytes(sent, end - 10, end, ack_t, ack)
    for t in (0, 777, 2500, 4999, 6000):
        highest = max([1, *end[sent <= t]])
        acked = max([1, *ack[ack_t <= t]])
        last = int(np.searchsorted(found.t_ns, t, side="right")) - 1
        assert (found.value[last] if last >= 0 else 0) == max(highest - acked, 0), f"seed {seed}, t {t}"


def test_nothing_sent_gives_nothing() -> None:
    assert unacknowledged_bytes(arr(), arr(), arr(), arr(), arr()).value.size == 0


def test_rate_counts_bytes_into_bins() -> None:
    edges, rate = Stream.of(arr(0, 1, 10, 25), arr(100, 100, 100, 100)).rate_bps(0, 29, 10)
    assert edges.tolist() == [0, 10, 20]
    assert rate.tolist() == [200 * 8e8, 100 * 8e8, 100 * 8e8]


@pytest.mark.parametrize(("span", "width"), [(10**9, 5_000_000), (10**7, 10**6), (2 * 10**11, 10**9)])
def test_bins_are_round_and_not_below_a_millisecond(span: int, width: int) -> None:
    assert nice_bin_ns(span) == width


def test_a_spike_of_one_packet_survives_thinning() -> None:
    t = np.arange(1_000_000, dtype=np.int64)
    y = np.zeros(t.size, dtype=np.int64)
    y[654_321] = 7
    rows = thin(t, y, 0, int(t[-1]), 1000)
    assert rows.size <= 1000 and 654_321 in rows
    assert rows[0] == 0 and rows[-1] == t.size - 1


def test_straight_lines_over_the_corners_show_every_level_that_lasts() -> None:
    """A second without change is drawn as a level and a jump, not as a slope. Points that are close get no corner."""
    steps = Points(arr(0, 1, 2, 3), arr(0, 10, 1000, 1005), arr(100, 200, 700, 900))
    drawn = with_corners(steps, 20)
    assert drawn.t_ns.tolist() == [0, 10, 1000, 1000, 1005]
    assert drawn.value.tolist() == [100, 200, 200, 700, 900]
    assert drawn.rows.tolist() == [0, 1, 1, 2, 3]  # the added corner belongs to the row before it


def test_few_points_are_not_thinned_and_lines_reach_the_edge() -> None:
    t = np.arange(0, 1000, 10, dtype=np.int64)
    assert thin(t, t, 95, 205, 1000).tolist() == list(range(9, 22))
    assert visible(t, -5, 5000) == slice(0, 100)
    assert inside(t, 95, 205) == slice(10, 21)


def test_aggregation_counts_every_row() -> None:
    t = np.sort(np.random.default_rng(3).integers(0, 10**9, 50_000))
    first, counts = aggregate(t, 0, 10**9, 100)
    assert counts.sum() == t.size and first.size == 100


@pytest.mark.parametrize("seed", range(20))
def test_rows_before_a_time_are_those_that_a_search_of_all_times_finds(seed: int) -> None:
    """Draws many equal times, numbers of packets around the ends of blocks, and edges before, between and after the
    times."""
    rng = np.random.default_rng(seed)
    packets = int(rng.choice([0, 1, APART - 1, APART, APART + 1, 5 * APART, 5 * APART + 7]))
    t = np.sort(rng.integers(0, max(packets // 3, 1), packets))
    edges = np.sort(rng.integers(-5, packets + 5, rng.integers(1, 400)))
    found = Stream.of(t, np.ones(packets, np.uint16)).rows_before(edges)
    assert found.tolist() == np.searchsorted(t, edges).tolist(), f"seed {seed}"
