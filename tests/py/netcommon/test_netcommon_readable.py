"""Numbers as people read them: a corpus, and what holds for every number."""

from __future__ import annotations

import random
import re

import pytest

from netcommon import readable

CORPUS = [
    ("short_term_bps", 43_706_123.4, "43.71 Mbit/s"),
    ("short_term_bps", 9_999_960_000.0, "10 Gbit/s"),
    ("rate_bps", 999_960_000, "1 Gbit/s"),
    ("rate_bps", 800_000_000, "800 Mbit/s"),
    ("rate_bps", 0, "0 bit/s"),
    ("rate_bps", 155_520_000, "155.5 Mbit/s"),
    ("rate_bps", 40, "40 bit/s"),
    ("queue_bytes", 112_640, "110 KB"),
    ("queue_bytes", 23_920_640, "22.81 MB"),
    ("window_bytes", 30_720, "30 KB"),
    ("window_bytes", 0, "0 B"),
    ("window_bytes", None, "–"),
    ("bytes", 83_886_080, "80 MB"),
    ("length_bytes", 1500, "1500 B"),
    ("length_bytes", 4096, "4 KB"),
    ("mtu", 4352, "4352 B"),
    ("queue_bytes", 1_048_575, "1 MB"),
    ("rtt_min_ns", 590_000, "590 µs"),
    ("delay_ns", 4_200_000, "4.2 ms"),
    ("delay_ns", 0, "0 ns"),
    ("elapsed_ns", 14_567_000_000, "14.57 s"),
    ("elapsed_ns", 119_000_000_000, "119 s"),
    ("elapsed_ns", 600_000_000_000, "10 min"),
    ("lateness_p99_ns", 41_943_040, "41.94 ms"),
    ("loss_ppb", 100_000, "0.01 %"),
    ("loss_ppb", 1, "0.0000001 %"),
    ("loss_ppb", 10_000_000, "1 %"),
    ("stopped_share", 0.781234, "78.12 %"),
    ("retransmits", 1813, "1813"),
    ("retransmits", 29_837_214, "29.84 M"),
    ("retransmits", 12_345, "12.34 k"),
    ("pace_packets", 69_500, "69.5 kpps"),
    ("queue_packets", 50, "50"),
    ("seed", 4_294_967_295, "4294967295"),
    ("trial", 12_345, "12345"),
    ("congestion", "lfp_xys:x=4,y=64", "lfp_xys:x=4,y=64"),
    ("nodelay", True, "yes"),
    ("ratio", 0.99951, "0.9995"),
    ("ratio", float("nan"), "–"),
    ("ratio", 1.25e16 + 0.5, "12500 T"),
]


@pytest.mark.parametrize(("name", "value", "text"), CORPUS, ids=lambda part: str(part))
def test_the_corpus(name: str, value: object, text: str) -> None:
    assert readable.named(name, value) == text


def test_every_number_below_1e15_has_at_most_four_digits_and_no_exponent() -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    names = ("x_bps", "x_bytes", "x_ns", "x_ppb", "x_share", "x_pps", "x")
    for _ in range(5000):
        value = rng.choice((1, -1)) * 10 ** rng.uniform(-9, 12.9)
        for name in names:
            text = readable.named(name, value)
            found = re.fullmatch(r"-?(\d+(?:\.\d+)?)(?: ?[^\d]+)?", text)
            assert found, f"{text} for {value} as {name}, seed {seed}"
            significant = found[1].replace(".", "").strip("0") if "." in found[1] else found[1].rstrip("0")
            assert len(significant) <= 4, f"{text} for {value} as {name}, seed {seed}"


def test_a_text_says_its_value_to_half_a_digit() -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    factors = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12}
    for _ in range(2000):
        bps = 10 ** rng.uniform(0, 14)
        amount, unit = readable.rate(bps).split(" ")
        assert float(amount) * factors[unit] == pytest.approx(bps, rel=6e-4), f"seed {seed}"


def test_different_values_have_different_texts() -> None:
    assert readable.distinct("rate_bps", [1_000_000, 1_000_100, 2_000_000]) == ["1 Mbit/s", "1.0001 Mbit/s", "2 Mbit/s"]
    assert readable.distinct("queue_bytes", [30_720, 61_440]) == ["30 KB", "60 KB"]
    assert readable.distinct("congestion", ["reno", "cubic"]) == ["reno", "cubic"]
    assert readable.distinct("window_bytes", [None, 1, None]) == ["–", "1 B", "–"]


@pytest.mark.parametrize(
    ("name", "greatest", "title"),
    [
        ("x_bps", 45e6, "X (Mbit/s)"),
        ("x_bps", 8.1e9, "X (Gbit/s)"),
        ("bytes", 23_360 * 1024, "X (MB)"),
        ("x_bytes", 0, "X (B)"),
        ("x_ns", 8.4e6, "X (ms)"),
        ("x_ns", 1.02e9, "X (s)"),
        ("stopped_share", 0.86, "X (%)"),
        ("retransmits", 7, "X"),
    ],
)
def test_an_axis_has_the_unit_of_its_greatest_value(name: str, greatest: float, title: str) -> None:
    unit = readable.unit(name, greatest)
    assert unit.title("X") == title
    assert greatest == 0 or not unit.name or 1 <= greatest / unit.size < 1024
