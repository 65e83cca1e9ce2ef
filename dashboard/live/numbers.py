"""All numbers of an answer of a control socket, by the names that its CONTROL.md gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

ENVELOPE = ("v", "ok")


def numbers(section: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, int | float]]:
    """Name and value of each number, those of inner objects with the outer name before them: `engine.timeouts`. Texts,
    lists and booleans are left out."""
    for name, value in section.items():
        if isinstance(value, Mapping):
            yield from numbers(value, f"{before}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool) and before + name not in ENVELOPE:
            yield before + name, value
