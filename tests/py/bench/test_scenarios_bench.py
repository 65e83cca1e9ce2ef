"""How benches turn measurements into rows, captures, rates and delays."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from bench import delay_accuracy, delay_disciplines, publish
from bench.accuracy import disciplines, numbered, theory
from bench.accuracy import times as accuracy
from bench.accuracy.arrivals import SNAP, Packets, read
from bench.registry import Result, Row, load
from netcommon.errors import LfpError

MS = 1_000_000


def block(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def packet(t_ns: int, length: int, data: bytes) -> bytes:
    kept = data.ljust(length, b"\0")[: min(length, SNAP)]
    return block(6, struct.pack("<IIIII", 0, t_ns >> 32, t_ns & 0xFFFFFFFF, len(kept), length) + kept)


def capture(path: Path, *packets: bytes) -> Path:
    head = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + block(1, bytes(8) + b"comment")
    path.write_bytes(head + b"".join(packets) + block(5, bytes(12)))
    return path


def tcp(payload: int, t_ns: int) -> tuple[int, int, bytes]:
    data = bytearray(SNAP)
    data[14], data[46] = 0x45, 0x80  # 20 bytes of IPv4 header, 32 of TCP
    return t_ns, 66 + payload, bytes(data)


def test_a_result_of_rows_has_the_share_within_bounds() -> None:
    rows = [Row("rate", "bit/s", 1001, 999, 1001), Row("loss", "packets", 5, 10, 20, "of 100")]
    result = Result("delay.accuracy", "share", None, rows=rows)
    line = result.as_json()
    assert (line["ours"], line["base"], line["base_name"], line["ratio"], line["pairs"]) == (0.5, None, None, None, [])
    assert [row["within"] for row in line["rows"]] == [True, False]
    assert "ours 0.5 share" in result.row() and "2 measured" in result.row()


def test_every_bench_of_the_delay_box_is_listed() -> None:
    names = {"rtt20", "rtt498", "lsr", "offloads_off", "small_packets", "accuracy", "disciplines"}
    assert {f"delay.{name}" for name in names} <= set(load())


def test_disciplines_are_held_to_bounds_around_the_kernels_figures() -> None:
    kernel = {
        "sent": 1300,
        "packets": {"a": 1000, "b": 5},
        "marks": {"a": 0, "b": 200},
        "wait_ms": {"50": 5.0, "99": 90.0},
    }
    ours = {
        "sent": 1300,
        "packets": {"a": 979, "b": 14},
        "marks": {"a": 0, "b": 179},
        "wait_ms": {"50": 4.2, "99": 98.0},
    }
    rows = {row.what: row for row in delay_disciplines.compared("codel", ours, kernel)}
    assert [row.within for row in rows.values()] == [False, True, False, True, True]
    assert "codel, marks of a" not in rows, "neither side marks there"
    assert (rows["codel, packets of a"].low, rows["codel, packets of a"].high) == (980, 1020)


def test_both_sides_of_a_discipline_get_the_same_arrivals() -> None:
    (first, flows), (again, _) = disciplines.arrivals(2), disciplines.arrivals(2)
    assert (first == again).all() and set(flows.tolist()) == {0, 1, 2}
    assert first[-1] / 1e9 == pytest.approx(2, rel=0.1)


def test_a_capture_is_read_as_an_array(tmp_path: Path) -> None:
    times = [1_700_000_000_123_456_789, 1_700_000_000_123_456_999]
    path = capture(tmp_path / "c.pcapng", *(packet(t, 1442, bytes(50) + struct.pack(">I", 7)) for t in times))
    packets = read(path)
    assert packets.t_ns.tolist() == times and packets.length.tolist() == [1442, 1442]
    assert packets.number_at(50).tolist() == [7, 7]
    assert read(capture(tmp_path / "none.pcapng")).t_ns.size == 0


def test_a_packet_shorter_than_the_snapshot_is_named_not_skipped(tmp_path: Path) -> None:
    path = capture(tmp_path / "c.pcapng", packet(1, 1442, b""), packet(2, 40, b""), packet(3, 1442, b""))
    with pytest.raises(LfpError, match="packet 2 is shorter than 64 bytes"):
        read(path)


def test_line_rate_counts_headers_of_every_wire_packet(tmp_path: Path) -> None:
    # The first packet starts the clock. A super-packet of three wire packets, one of them short, and a full packet
    # follow.
    sent = [tcp(1448, 0), tcp(2 * 1448 + 100, 2 * MS), tcp(1448, 4 * MS)]
    packets = read(capture(tmp_path / "c.pcapng", *(packet(*s) for s in sent)))
    bits = (2 * 1448 + 100 + 3 * 66 + 1448 + 66) * 8
    rate_bps, span_s = accuracy.line_rate_bps(packets, 0, 1)
    assert rate_bps == pytest.approx(bits / 0.004) and span_s == 0.004
    with pytest.raises(LfpError, match="too few packets"):
        accuracy.line_rate_bps(packets, 1, 1)


def test_delay_errors_join_by_number_whatever_was_lost() -> None:
    def packets(numbers: list[int], times: list[int]) -> Packets:
        data = np.zeros((len(numbers), SNAP), dtype=np.uint8)
        data[:, 42:46] = np.array(numbers, dtype=">u4").view(np.uint8).reshape(-1, 4)
        return Packets(np.array(times), np.full(len(numbers), 142), data)

    sent, arrived = (
        packets([1, 2, 3, 400_000], [0, 10, 20, 30]),
        packets([400_000, 1, 3], [10_000_035, 10_000_000, 10_000_018]),
    )
    assert accuracy.delay_errors_ns(sent, arrived).tolist() == [0, -2, 5]
    with pytest.raises(LfpError, match="no packet"):
        accuracy.delay_errors_ns(sent, packets([9], [0]))


def test_a_split_super_packet_gives_its_numbers_by_its_length() -> None:
    data = np.zeros((3, SNAP), dtype=np.uint8)
    data[:, 42:46] = np.array([0, 5, 8], dtype=">u4").view(np.uint8).reshape(-1, 4)
    packets = Packets(np.array([10, 20, 30]), 42 + 256 * np.array([4, 1, 2]), data)
    found, row = numbered.numbers(packets, 256)
    assert found.tolist() == [0, 1, 2, 3, 5, 8, 9] and row.tolist() == [0, 0, 0, 0, 1, 2, 2]
    assert np.flatnonzero(numbered.lost(packets, 256, 11)).tolist() == [4, 6, 7, 10]


def walk(chain: theory.Chain, n: int, seed: int) -> np.ndarray:
    """Losses of one simulation of the 4-state chain, started in its first state."""
    draws, edges, state = np.random.default_rng(seed).random(n), np.cumsum(chain.steps, axis=1), 0
    visited = np.empty(n, dtype=np.int64)
    for i, draw in enumerate(draws):
        state = min(int(np.searchsorted(edges[state], draw, side="right")), len(edges) - 1)
        visited[i] = state
    return chain.lost[visited]


@pytest.mark.parametrize("chain", [theory.gilbert(0.05, 4), theory.four_states(0.02, 0.3, 0.1, 0.4, 0.01)])
def test_theory_of_chains_is_what_chains_do(chain: theory.Chain) -> None:
    """About the share of runs that the confidence gives is within the interval, which is no wider than it has to be."""
    runs = [walk(chain, 2000, seed) for seed in range(100)]
    losses = np.array([run.sum() for run in runs])
    low, high = chain.losses(2000)
    assert np.mean((losses >= low) & (losses <= high)) >= 0.98
    z = (high - low) / 2 / losses.std()
    assert 2.5 < z < 4.3  # 3.3 in theory; 100 runs give the deviation to some 15 %
    bursts = np.array([int((run[1:] & ~run[:-1]).sum() + run[0]) for run in runs])
    low, high = chain.burst(int(bursts.sum()))
    assert low <= losses.sum() / bursts.sum() <= high


def test_gilberts_mean_is_exact_and_4_state_reduces_to_it() -> None:
    chain = theory.gilbert(0.01, 10)
    assert chain.stationary @ chain.lost == pytest.approx(0.01)
    assert sum(chain.burst(100)) / 2 == pytest.approx(10)
    same = theory.four_states(0.1 * 0.01 / 0.99, 0.1, 0, 1, 0)
    assert same.losses(10**6) == pytest.approx(chain.losses(10**6))


def test_the_whole_table_fails_by_chance_once_in_a_hundred() -> None:
    assert pytest.approx(0.99, abs=1e-4) == theory.CONFIDENCE**theory.RANDOM_ROWS


def test_the_page_holds_what_was_measured(tmp_path: Path) -> None:
    rows = [
        Row("rate 1 Mbit/s", "bit/s", 999_999.5, 999_000, 1_001_000, "over 60 s"),
        Row("loss", "packets", 5, 10, 20),
    ]
    result = Result("delay.accuracy", "share", None, rows=rows, method=delay_accuracy.METHOD)
    publish.write(result, tmp_path / "accuracy.md")
    text = (tmp_path / "accuracy.md").read_text()
    assert "| rate 1 Mbit/s | 999999.5 | 999000 | 1001000 | bit/s | within | over 60 s |" in text
    assert "| loss | 5 | 10 | 20 | packets | **OUTSIDE** |" in text
    assert "1 of 2 figures within" in text and "- kernel: " in text and "- date: 2" in text and "Bonferroni" in text
    assert [p.name for p in tmp_path.iterdir()] == ["accuracy.md"]
