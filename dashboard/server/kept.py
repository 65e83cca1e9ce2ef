"""The server's side of its keeper (keeper.py): the same objects as without a keeper, which use a socket.

A request and its answer are one message each, a JSON object of at most `LONGEST` octets on a socket pair that keeps
messages apart. An answer has `ok`, and then `answer`, or `error` with the exit status that belongs to it.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import comet_delay
import lft_ref
from dashboard.classroom.demonstration import Setting, State
from netcommon.control import Answer, ControlClient, ControlError
from netcommon.errors import LfpError

LONGEST = 1 << 17  # the answer of a gateway has about 8 KB
GONE = "the dashboard's keeper has ended, so nothing can be started or changed; start the dashboard again"


class Channel:
    """One end of a socket pair to the keeper. Threads may share it: they ask one after the other."""

    def __init__(self, number: int) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=number)
        self._lock = threading.Lock()

    def ask(self, request: dict[str, Any]) -> Any:
        """The answer to a request. Raises LfpError with the keeper's reason."""
        try:
            with self._lock:
                self._socket.send(json.dumps(request).encode())
                text = self._socket.recv(LONGEST)
        except OSError:
            text = b""
        if not text:
            raise LfpError(GONE)
        answer = json.loads(text)
        if not answer["ok"]:
            raise LfpError(answer["error"], answer["status"])
        return answer["answer"]

    def close(self) -> None:
        """Ends the channel. A keeper without channels ends."""
        self._socket.close()


class KeptDemonstrations:
    """As `dashboard.classroom.demonstration.Demonstrations`."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def state(self) -> State:
        """The state now."""
        found = self._channel.ask({"do": "state"})
        running = Setting(**found["running"]) if found["running"] else None
        return State(running, found["left_s"], tuple(found["runs"]), found["error"])

    def start(self, setting: Setting) -> None:
        """Starts one demonstration."""
        self._channel.ask({"do": "start", "setting": asdict(setting)})

    def cancel(self) -> None:
        """Ends the demonstration that is running, if one is."""
        self._channel.ask({"do": "cancel"})


class KeptChanges:
    """As `dashboard.server.changes.Changes`."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.demonstrations = KeptDemonstrations(channel)

    def delete(self, name: str) -> None:
        """Deletes a run."""
        self._channel.ask({"do": "delete", "name": name})

    def tag(self, name: str, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """Adds and removes tags of a run."""
        self._channel.ask({"do": "tag", "name": name, "add": list(add), "remove": list(remove)})


class _Kept(ControlClient):
    """A client of a tool's control socket that asks through the keeper."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def request(self, request: Answer) -> Answer:
        """The tool's answer. ControlError when it refuses, and when there is none."""
        try:
            answer: Answer = self._channel.ask(request)
        except LfpError as error:
            raise ControlError(str(error), error.status) from error
        return answer

    def close(self) -> None:
        """Does nothing, because the keeper has the connection."""


class KeptGateway(_Kept, lft_ref.Control):
    """As `lft_ref.Control`."""


class KeptBox(_Kept, comet_delay.Control):
    """As `comet_delay.Control`."""
