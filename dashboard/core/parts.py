"""What pages and report show in addition to figures: tables and lists of facts, as plain strings without Dash or HTML.

A table has a head and rows; a list of facts is (label, value) pairs. The code that renders them escapes them. Every
number in them has passed netcommon.readable.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from netcommon import readable

VERDICT_CLASS = {True: "good", False: "bad", None: "open"}  # in style.css
Facts = list[tuple[str, str]]


@dataclass(frozen=True)
class Table:
    """Strings, row by row. `numeric`: columns that are aligned right."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()


def when(realtime_ns: Any) -> str:
    """`2025-10-09 08:53:20 UTC`; a dash where there is no time."""
    if not realtime_ns:
        return readable.NOTHING
    return datetime.fromtimestamp(int(realtime_ns) / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def known(facts: Facts) -> Facts:
    """The facts whose value is known."""
    return [(label, value) for label, value in facts if value not in (readable.NOTHING, "")]


def between(low: str, high: str) -> str:
    """`12 ms to 14 ms`; a single text where both are the same."""
    return low if low == high else f"{low} to {high}"
