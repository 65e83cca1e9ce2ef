"""Sizes in bandwidth-delay products (``queue = "0.5 BDP"``), and gateways' limits in lines (``rate = "1 line"``).

A BDP is the rate of the slowest line times the RTT of the empty path. Each setting has its own BDP, so a sweep over
rate or delay keeps the ratio. For a size of ``[path]`` that begins with ``ba_`` the rate of the reverse direction
counts, for all others the rate from sender to receiver. A line is the rate of the slowest line from sender to receiver;
a limit is rounded down to whole Mbit/s, the unit of the gateways' options. Results hold bytes and bit/s. Rejected:
keeping the multiples in the model, because everything that reads a size would have to know the path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Literal

from scenarios.plan.path import PathTable

SIZES = (
    *(("path", f"{way}{key}") for way in ("", "ab_", "ba_") for key in ("queue", "pace_buffer")),
    ("transfer", "window"),
    ("transfer", "bytes"),
)
RATES = (("gateway", "rate"),)
_STEP_BPS = 10**6
_ANY_SIZE = 64 * 1024  # a placeholder that every key of SIZES accepts
_TEXT = r"\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*%s\s*"
_BDP, _LINE = (re.compile(_TEXT % unit, re.IGNORECASE) for unit in ("BDP", "line"))

Key = tuple[str, str]
Values = Mapping[str, Any]


def multiples(values: Values) -> dict[Key, Decimal]:
    """The keys whose values are multiples of a BDP or of the line's rate."""
    sizes = {}
    for pattern, keys in ((_BDP, SIZES), (_LINE, RATES)):
        for table, key in keys:
            inner = values.get(table)
            text = inner.get(key) if isinstance(inner, dict) else None
            if isinstance(text, str) and (match := pattern.fullmatch(text)):
                sizes[table, key] = Decimal(match[1])
    return sizes


def any_amounts(keys: Iterable[Key]) -> dict[Key, int]:
    """A placeholder for each key that the model accepts: the right amounts can be computed only when the path is
    known."""
    return {key: _STEP_BPS if key in RATES else _ANY_SIZE for key in keys}


def with_sizes(values: Values, sizes: Mapping[Key, int]) -> dict[str, Any]:
    """The values with these sizes in bytes, and rates in bit/s."""
    done = dict(values)
    for (table, key), size in sizes.items():
        done[table] = done[table] | {key: f"{size}bit" if (table, key) in RATES else size}
    return done


def amount(key: Key, multiple: Decimal, path: PathTable) -> int:
    """Converts BDPs of this path to bytes, or lines to bit/s. ValueError when the path has no BDP, and for results
    below a byte or 1 Mbit/s, because 0 stands for no bound."""
    return _limit_bps(multiple, path) if key in RATES else _bytes(key, multiple, path)


def _rates(path: PathTable, which: Literal["ab", "ba"]) -> list[int]:
    way = path.direction(which)
    return [rate for rate in (way.rate_bps, way.access_rate_bps) if rate]


def _limit_bps(multiple: Decimal, path: PathTable) -> int:
    rates = _rates(path, "ab")
    if not rates:
        raise ValueError("a path without rate has no line; set path.rate, or give a rate such as 20Mbit")
    limit = int(multiple * min(rates)) // _STEP_BPS * _STEP_BPS
    if not limit:
        raise ValueError("less than 1Mbit; want for example 1 line")
    return limit


def _bytes(key: Key, multiple: Decimal, path: PathTable) -> int:
    rates = _rates(path, "ba" if key[1].startswith("ba_") else "ab")
    if not rates or not path.rtt_ns():
        lacks = "rate" if not rates else "delay"
        raise ValueError(f"a path without {lacks} has no BDP; set path.{lacks}, or give a size such as 110KB")
    size = round(multiple * min(rates) * path.rtt_ns() / (8 * 10**9))
    if not size:
        raise ValueError("less than a byte; want for example 0.5 BDP")
    return size
