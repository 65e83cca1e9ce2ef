"""rttcp as the tests run it: a receiver on a free port of loopback, senders, lines read with a deadline."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import rttcp

REPOSITORY = Path(__file__).resolve().parents[2]
DEADLINE_S = 20.0


def _binary() -> str:
    named = os.environ.get("LFP_RTTCP")
    return named if named else str(REPOSITORY / "build" / "release" / "bin" / "rttcp")


BINARY = _binary()


def read_line(process: subprocess.Popen[bytes], deadline: float) -> dict[str, Any]:
    """The next JSON line of an unbuffered pipe."""
    assert process.stdout is not None
    line = b""
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"no line in time; so far {line!r}"
        octet = os.read(process.stdout.fileno(), 1)
        assert octet, f"stdout ended; so far {line!r}"
        line += octet
    result: dict[str, Any] = json.loads(line)
    return result


class Receiver:
    """A receiver on a free port of loopback, ended and reaped by its pid."""

    def __init__(self, *extra: str, port: int | None = None) -> None:
        self.port = port or free_port()
        argv = [*rttcp.receiver_argv(BINARY, port=self.port), *extra]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        assert self.event()["event"] == "ready"

    def event(self) -> dict[str, Any]:
        return read_line(self.process, time.monotonic() + DEADLINE_S)

    def stop(self) -> tuple[int, list[dict[str, Any]], str]:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, [json.loads(line) for line in out.splitlines()], err.decode()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(*argv: str) -> tuple[int, list[dict[str, Any]], str]:
    done = subprocess.run([BINARY, *argv], capture_output=True, timeout=DEADLINE_S, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode()


def send(port: int, host: str = "127.0.0.1", *extra: str, **options: Any) -> tuple[int, list[dict[str, Any]], str]:
    argv = rttcp.sender_argv(host, BINARY, port=port, **options)
    return run(*argv[1:], *extra)
