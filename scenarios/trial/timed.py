"""Actions of a scenario while a trial runs: a thread that does each of them when its time has come. It sleeps until
then, so it works in virtual time too. Times count from the start of the delay box, as times of outages do."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from netcommon import quantity
from netcommon.errors import LfpError


@dataclass(frozen=True)
class Act:
    """``name``: its name in an error. ``do``: raises LfpError when it fails."""

    at_ns: int
    name: str
    do: Callable[[], None]


@contextlib.contextmanager
def applied(began_ns: int, acts: Sequence[Act]) -> Iterator[None]:
    """Does these actions, in order of time, while the block runs; those that are due later are left out. ``began_ns``:
    time 0, CLOCK_MONOTONIC. After a failure the later ones are left out, and LfpError is raised at the end."""
    if not acts:
        yield
        return
    ended, failed = threading.Event(), list[LfpError]()

    def make() -> None:
        for act in acts:
            if ended.wait(max(0, began_ns + act.at_ns - time.monotonic_ns()) / 1e9):
                return
            try:
                act.do()
            except LfpError as error:
                failed.append(LfpError(f"{act.name} at {quantity.format_duration(act.at_ns)}: {error}"))
                return

    thread = threading.Thread(target=make, name=acts[0].name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if failed:
        raise failed[0]
