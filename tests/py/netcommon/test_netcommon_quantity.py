"""Quantities: the grammar of nc_quantity.h, from text to base units and back."""

from __future__ import annotations

import random

import pytest

from netcommon import quantity
from netcommon.quantity import BYTES, COUNT, DISTANCE, DURATION, RATE, RATIO, Unit

READ = [
    (DURATION, "100ms", 100_000_000), (DURATION, "4.2ms", 4_200_000), (DURATION, "50us", 50_000),
    (DURATION, "1.5s", 1_500_000_000), (DURATION, "2min", 120_000_000_000),
    (DURATION, "1H", 3_600_000_000_000), (DURATION, "0", 0),
    (RATE, "45Mbit", 45_000_000), (RATE, "10Gbit/s", 10**10), (RATE, "800mbps", 800_000_000), (RATE, "0", 0),
    (RATE, "10Mbps", 10**7), (RATE, "10MBps", 8 * 10**7), (RATE, "1.25mBps", 10**7), (RATE, "10MB/s", 8 * 10**7),
    (RATE, "100B/s", 800), (RATE, "2Bps", 16), (RATE, "2bps", 2),
    (BYTES, "110KB", 112_640), (BYTES, "2GiB", 2**31), (BYTES, "9000", 9000), (BYTES, "1.5k", 1536),
    (RATIO, "0.01%", 100_000), (RATIO, "100ppm", 100_000), (RATIO, "0.0001", 100_000), (RATIO, "100%", 10**9),
    (COUNT, "18446744073709551615", 2**64 - 1), (BYTES, "9223372036854775807", 2**63 - 1),
]  # fmt: skip

WRITTEN = [
    (DURATION, 4_200_000, "4.2ms"),
    (DURATION, 0, "0ns"),
    (DURATION, 90_000_000_000, "90s"),
    (RATE, 45_000_000, "45Mbit"),
    (BYTES, 112_640, "110KB"),
    (BYTES, 9001, "9001"),
    (RATIO, 100_000, "0.01%"),
    (RATIO, 1, "0.0000001%"),
]


@pytest.mark.parametrize(("unit", "text", "value"), READ)
def test_reads(unit: Unit, text: str, value: int) -> None:
    assert quantity.parse(unit, text) == value


@pytest.mark.parametrize(("unit", "value", "text"), WRITTEN)
def test_writes_the_shortest_exact_text(unit: Unit, value: int, text: str) -> None:
    assert quantity.format_value(unit, value) == text


@pytest.mark.parametrize("unit", [DURATION, RATE, BYTES, RATIO])
def test_what_it_writes_reads_back(unit: Unit) -> None:
    seed = 20
    rng = random.Random(seed)
    for _ in range(3000):
        value = rng.randrange(10 ** rng.randrange(1, 17))
        text = quantity.format_value(unit, value)
        assert quantity.parse(unit, text) == value, f"seed {seed}: {value} written as {text}"


@pytest.mark.parametrize(
    ("unit", "text", "why"),
    [
        (DURATION, "-4ms", "negative"), (DURATION, "", "not a duration"), (DURATION, "4 ms", "not a duration"),
        (DURATION, "4lightyears", "not a duration"), (DURATION, "ms", "not a duration"),
        (DURATION, "1e3", "not a duration"), (RATE, "45MB", "not a rate"), (BYTES, "1..5K", "not a size"),
        (BYTES, "99999999999999999999", "too large"), (BYTES, "123456789012345678901", "not a size"),
        (BYTES, "99999999TB", "too large"), (DURATION, "0.0000000001", "too small"), (RATIO, "٣%", "not a ratio"),
        (DURATION, "4.2", "has no unit; write 4.2ms or 4.2s$"), (RATE, "5", "has no unit; write 5Mbit or 5bit$"),
        (RATIO, "1", "has no unit; write 1% or 100%$"), (RATIO, "2.5", "has no unit; write 2.5%$"),
        (RATE, "10MBPS", "bits or bytes\\? write 10Mbit or 10MB/s$"), (RATE, "10mb/s", "write 10mbit or 10mB/s$"),
        (DISTANCE, "880", "has no unit; write 880km or 880m$"),
    ],
)  # fmt: skip
def test_refuses_with_a_reason(unit: Unit, text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        quantity.parse(unit, text)
