"""Signals that end a command in an orderly way. The first one raises ``Interrupted`` in the main thread, so that every
``with`` block tears down what it created. Later ones are ignored: the tear-down takes a bounded time and must not be
cut short.

Python raises the exception wherever the main thread is, even in a finaliser or in the callback of a weak reference.
These cannot pass an exception on: Python reports it as unraisable and drops it. So the signal is sent again a moment
later."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AGAIN_S = 0.01  # long enough for the finaliser to end


class Interrupted(KeyboardInterrupt):
    """Ended by the signal ``number``; ``status`` is 128 + that (130 for Ctrl-C)."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.number, self.status = number, 128 + number


@contextlib.contextmanager
def orderly() -> Iterator[None]:
    """Inside the block, the first SIGINT, SIGTERM or SIGHUP raises ``Interrupted``."""
    raised, said = False, sys.unraisablehook

    def handle(number: int, _frame: FrameType | None) -> None:
        nonlocal raised
        if not raised:
            raised = True
            raise Interrupted(number)

    def lost(what: sys.UnraisableHookArgs) -> None:
        nonlocal raised
        if not isinstance(what.exc_value, Interrupted):
            said(what)
            return
        raised = False
        threading.Timer(_AGAIN_S, os.kill, (os.getpid(), what.exc_value.number)).start()

    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    sys.unraisablehook = lost
    try:
        yield
    finally:
        sys.unraisablehook = said
        for number, handler in before.items():
            signal.signal(number, handler)
