"""Sizes in bandwidth-delay products: ``queue = "0.5 BDP"``.

A BDP is the rate of the slowest line times the RTT of the empty path, both of the setting itself, so a sweep over rate
or delay keeps the ratio. A size of ``[path]`` that begins with ``ba_`` counts by the rate of the way back, all others
by the rate from sender to receiver. Results hold bytes. Rejected: multiples that live on in the model. Everything that
reads a size would have to know the path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from scenarios.plan.path import PathTable

SIZES = (
    *(("path", f"{way}{key}") for way in ("", "ab_", "ba_") for key in ("queue", "pace_buffer")),
    ("transfer", "window"), ("transfer", "bytes"),
)  # fmt: skip
ANY_SIZE = 64 * 1024  # every key of SIZES takes it
_TEXT = re.compile(r"\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*BDP\s*", re.IGNORECASE)

Key = tuple[str, str]
Values = Mapping[str, Any]


def multiples(values: Values) -> dict[Key, Decimal]:
    """The keys whose values are such multiples."""
    found = {}
    for table, key in SIZES:
        inner = values.get(table)
        text = inner.get(key) if isinstance(inner, dict) else None
        if isinstance(text, str) and (match := _TEXT.fullmatch(text)):
            found[table, key] = Decimal(match[1])
    return found


def with_sizes(values: Values, sizes: Mapping[Key, int]) -> dict[str, Any]:
    """The values with these sizes in bytes."""
    done = dict(values)
    for (table, key), size in sizes.items():
        done[table] = done[table] | {key: size}
    return done


def in_bytes(key: Key, multiple: Decimal, path: PathTable) -> int:
    """What so many BDP of this path are. ValueError when it has none, and for less than a byte, because 0 stands for no
    bound."""
    way = path.direction("ba" if key[1].startswith("ba_") else "ab")
    rates = [rate for rate in (way.rate_bps, way.access_rate_bps) if rate]
    if not rates or not path.rtt_ns():
        lacks = "rate" if not rates else "delay"
        raise ValueError(f"a path without {lacks} has no BDP; set path.{lacks}, or give a size such as 110KB")
    size = round(multiple * min(rates) * path.rtt_ns() / (8 * 10**9))
    if not size:
        raise ValueError("less than a byte; want for example 0.5 BDP")
    return size
