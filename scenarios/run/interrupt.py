"""Signals that end a command in an orderly way. The first one raises ``Interrupted`` in the main thread, so that every
``with`` block tears down what it created. Later ones are ignored: the tear-down takes a bounded time and must not be
cut short."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """Ended by a signal; ``status`` is 128 + its number (130 for Ctrl-C)."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.status = 128 + number


@contextlib.contextmanager
def orderly() -> Iterator[None]:
    """Inside the block, the first SIGINT, SIGTERM or SIGHUP raises ``Interrupted``."""
    raised = False

    def handle(number: int, _frame: FrameType | None) -> None:
        nonlocal raised
        if not raised:
            raised = True
            raise Interrupted(number)

    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
