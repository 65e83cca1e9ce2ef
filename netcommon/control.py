"""A client of a tool's control socket: JSON lines over a Unix socket, the Python twin of ``src/nc_control.h``.

A request is one line with ``op``; the answer is one line with ``ok``. Every tool with such a socket knows ``show`` and
``set``. The tool's own class has its other requests. Nothing here reads the fields of an answer.
"""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any, ClassVar, Self

from netcommon.errors import LfpError

Answer = dict[str, Any]


class ControlError(LfpError):
    """A tool refused a request, or did not answer it. The text is the reason."""


class Refused(ControlError):
    """The tool refused the request. Nothing has changed in the tool."""


class ControlClient:
    """A connection to a running tool. Use it as a context manager; the tool continues when the connection ends."""

    tool: ClassVar[str]  # the program's name, for messages

    def __init__(self, path: Path, timeout_s: float = 5.0) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            denied = isinstance(error, PermissionError)
            advice = f"want root, or the user who started {self.tool}" if denied else f"is {self.tool} running there?"
            raise ControlError(f"{path}: {error.strerror or error}; {advice}") from error
        self._lines = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection."""
        self._lines.close()
        self._socket.close()

    def show(self) -> Answer:
        """The state of the tool; its CONTROL.md names the fields."""
        return self.request({"op": "show"})

    def set(self, **values: str) -> Answer:
        """Changes settings, all or none: ``set(rate="800Mbit")``. Underscores stand for the hyphens of an option."""
        named = {name.replace("_", "-"): value for name, value in values.items()}
        return self.request({"op": "set", "values": named})

    def request(self, request: Answer) -> Answer:
        """The answer to a request. Refused when it is not ``ok``, ControlError when there is none."""
        try:
            self.send(json.dumps(request).encode() + b"\n")
            answer = self.answer()
        except OSError as error:
            raise ControlError(f"{self.tool} did not answer: {error}") from error
        if answer is None:
            raise ControlError(f"{self.tool} closed the connection")
        if not answer.get("ok"):
            raise Refused(str(answer.get("error")))
        return answer

    def send(self, line: bytes) -> None:
        """Sends octets as they are; for tests of a tool's reaction."""
        self._socket.sendall(line)

    def answer(self) -> Answer | None:
        """The next answer, whether it is ``ok`` or not; None when the tool has closed the connection."""
        try:
            line = self._lines.readline()
        except ConnectionResetError:
            return None
        if not line:
            return None
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise ControlError(f"{self.tool} answered with something else than a JSON object: {line[:80]!r}")
        return answer
