"""The trials whose guests are off: their samples and captures become tables in a thread each, while other guests run.

A thread mostly waits for pktlogger, or for Arrow, which computes outside of Python's lock. A trial counts as one of the
jobs until its tables are made, so no more processors are busy than there are jobs. Rejected: one analysis after another
in the loop that starts guests. An analysis takes a third of its guest's time, so more than three guests at a time would
wait for it. Also rejected: processes, each of which would load Arrow again.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any

from netcommon.ledger import Ledger

_LOOK_S = 0.02
_TOOL = "pktlogger"

Status = dict[str, Any]


class Digests:
    """A context manager. Leaving it after an error, such as Ctrl-C, ends the analyses under way first, which it finds
    in the ledger. ``done_fd``: an eventfd that counts finished analyses. ``ending``: whether analyses fail because they
    are ended."""

    def __init__(self, ledger: Ledger, jobs: int) -> None:
        self._ledger = ledger
        self._pool = ThreadPoolExecutor(jobs, "digest")
        self._begun: list[Future[Status]] = []
        self.ending = False
        self.done_fd = os.eventfd(0)

    def begin(self, work: Callable[[], Status]) -> Future[Status]:
        """Does the work in a thread."""
        self._begun = [one for one in self._begun if not one.done()]
        begun = self._pool.submit(work)
        self._begun.append(begun)
        begun.add_done_callback(lambda _: os.eventfd_write(self.done_fd, 1))
        return begun

    def __enter__(self) -> Digests:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.ending = error is not None
        self._pool.shutdown(wait=not self.ending, cancel_futures=self.ending)
        while wait(self._begun, timeout=_LOOK_S).not_done:
            for process in self._ledger.running():
                if process.name.startswith(_TOOL):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process.pid, signal.SIGTERM)
        self._pool.shutdown()  # waits for the threads, and so for the tools that they call
        os.close(self.done_fd)
