"""A client of the box's control socket: JSON lines over a Unix socket (`CONTROL.md`)."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any


class ControlError(Exception):
    """The box refused a request, or did not answer; the text is its reason."""


class Control:
    """A connection to a running box. Use as a context manager."""

    def __init__(self, path: Path, timeout_s: float = 5.0) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise ControlError(f"{path}: {error.strerror}; is comet-delay running there?") from error
        self._lines = self._socket.makefile("r", encoding="utf-8")

    def __enter__(self) -> Control:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection; the box goes on."""
        self._lines.close()
        self._socket.close()

    def show(self) -> dict[str, Any]:
        """Parameters, statistics and verdict."""
        return self._request({"op": "show"})

    def set(self, **values: str) -> dict[str, Any]:
        """Changes parameters, all or none: ``set(loss="1%", ab_rate="45Mbit")``. The answer's ``changed`` has those
        whose value is another now, by direction."""
        named = {name.replace("_", "-"): value for name, value in values.items()}
        return self._request({"op": "set", "values": named})

    def _request(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            line = self._lines.readline()
        except OSError as error:
            raise ControlError(f"the box did not answer: {error}") from error
        if not line:
            raise ControlError("the box closed the connection")
        answer: dict[str, Any] = json.loads(line)
        if not answer.get("ok"):
            raise ControlError(str(answer.get("error")))
        return answer
