"""Watches a running tool by its control socket, for all browsers at once.

A thread asks once a second, and pages read what it keeps. A socket without a tool is not an error: the page shows it,
and the next poll tries again. Rejected: asking in the callback of each page. A socket takes 8 clients, and the plot of
each page would begin when the page was opened.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from dashboard.live.recent import Recent, Sample, Watched
from netcommon.control import Answer, ControlClient, ControlError

PERIOD_S = 1.0
S = TypeVar("S", bound=Watched)
C = TypeVar("C", bound=ControlClient)


@dataclass(frozen=True)
class Seen(Generic[S]):
    """What a page shows. `state` is None, and `error` says why, while the tool does not answer. `samples` end at
    `now_s` at the latest."""

    state: S | None
    error: str
    samples: tuple[Sample, ...]
    now_s: float

    def per_s(self, counter: str) -> float | None:
        """Growth of a counter per second at the last sample; None where it is unknown."""
        return self.samples[-1].per_s.get(counter) if self.samples else None


class Watcher(Generic[S, C]):
    """Watches the tool at a socket until `close`. `connect`: gives a connection to it; `tool`: the program's name;
    `read`: makes a state of its answer."""

    def __init__(self, path: Path, connect: Callable[[], C], tool: str, read: Callable[[Answer], S]) -> None:
        self.path, self.connect = path, connect
        self._tool, self._read = tool, read
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._connected: C | None = None
        self._recent = Recent()
        self._state: S | None = None
        self._error = f"{path}: not asked yet"
        self._thread = threading.Thread(target=self._watch, name=f"watch {path}", daemon=True)
        self._thread.start()

    def seen(self) -> Seen[S]:
        """The samples so far."""
        with self._lock:
            return Seen(self._state, self._error, self._recent.samples(), time.monotonic())

    def understood(self, answer: Answer) -> S:
        """The state in an answer. ControlError when the answer lacks what this tool's answers have."""
        try:
            return self._read(answer)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ControlError(
                f"{self.path}: the answer is not one of {self._tool} ({error}); give the control socket of {self._tool}"
            ) from error

    def close(self) -> None:
        """Ends the watch and its connection."""
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.is_set():
            state, error = self._look()
            with self._lock:
                self._state, self._error = state, error
                self._recent.take(time.monotonic(), state)
            self._ended.wait(PERIOD_S)
        self._disconnect()

    def _look(self) -> tuple[S | None, str]:
        """The state, or why there is none."""
        try:
            if self._connected is None:
                self._connected = self.connect()
            return self.understood(self._connected.show()), ""
        except ControlError as error:
            self._disconnect()
            return None, str(error)

    def _disconnect(self) -> None:
        if self._connected is not None:
            self._connected.close()
            self._connected = None
