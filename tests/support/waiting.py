"""Polling for a condition that must become true. The deadline is long, which costs nothing when things work."""

from __future__ import annotations

import time
from collections.abc import Callable

_POLL_S = 0.02


def wait_until(true: Callable[[], object], what: str, timeout_s: float = 60) -> None:
    """Polls until ``true()``. AssertionError says which ``what`` did not come."""
    deadline = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < deadline, f"waited {timeout_s} s for {what}"
        time.sleep(_POLL_S)
