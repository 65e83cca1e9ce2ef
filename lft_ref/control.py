"""A client of a gateway's control socket: JSON lines over a Unix socket (`CONTROL.md`)."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any, Literal

from netcommon.errors import LfpError

State = dict[str, Any]


class ControlError(LfpError):
    """The gateway refused a request or did not answer. The text is the reason."""


class Control:
    """A connection to a running gateway. Use it as a context manager."""

    def __init__(self, path: Path, timeout_s: float = 5.0) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise ControlError(f"{path}: {error.strerror or error}; is lft-gateway running there?") from error
        self._lines = self._socket.makefile("rb")

    def __enter__(self) -> Control:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection. The gateway goes on."""
        self._lines.close()
        self._socket.close()

    def show(self) -> State:
        """The gateway's state: parameters, and counters by section."""
        return self._request({"op": "show"})

    def set(self, **values: str) -> State:
        """Changes settings, all or none: ``set(rate="800Mbit", redundancy="off")``. Returns the new state."""
        named = {name.replace("_", "-"): value for name, value in values.items()}
        return self._request({"op": "set", "values": named})

    def bypass(self, when: Literal["auto", "on", "off"]) -> State:
        """When new connections bypass the tunnel: while it is down, always, or never."""
        return self.set(bypass=when)

    def drain(self, within: str) -> State:
        """Takes no new connections, and ends the gateway once there are none left, at the latest after ``within``."""
        return self._request({"op": "stop", "within": within})

    def stop(self) -> State:
        """Ends the gateway at once. Its connections are reset."""
        return self._request({"op": "stop"})

    def send(self, line: bytes) -> None:
        """Sends octets as they are; for tests of what a gateway does with them."""
        self._socket.sendall(line)

    def answer(self) -> State | None:
        """The next answer, whether it is ``ok`` or not; None when the gateway has closed the connection."""
        try:
            line = self._lines.readline()
        except ConnectionResetError:
            return None
        answer: State | None = json.loads(line) if line else None
        return answer

    def _request(self, request: State) -> State:
        try:
            self.send(json.dumps(request).encode() + b"\n")
            answer = self.answer()
        except OSError as error:
            raise ControlError(f"lft-gateway did not answer: {error}") from error
        if answer is None:
            raise ControlError("lft-gateway closed the connection")
        if not answer.get("ok"):
            raise ControlError(str(answer.get("error")))
        return answer
