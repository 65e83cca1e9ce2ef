"""rttcp as the tests run it: a receiver on a free port of loopback, senders, lines read with a deadline."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rttcp
from support.ports import free_port

REPOSITORY = Path(__file__).resolve().parents[2]
DEADLINE_S = 60.0
VERSION = 8  # of the protocol
HELLO = {"type": "hello", "magic": "rttcp", "version": VERSION, "role": "propose", "host": ""}


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


def run(*argv: str) -> tuple[int, list[dict[str, Any]], str]:
    done = subprocess.run([BINARY, *argv], capture_output=True, timeout=DEADLINE_S, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode()


def send(port: int, host: str = "127.0.0.1", *extra: str, **options: Any) -> tuple[int, list[dict[str, Any]], str]:
    argv = rttcp.sender_argv(host, BINARY, port=port, **options)
    return run(*argv[1:], *extra)


def start_long_transfer(port: int, **options: Any) -> subprocess.Popen[bytes]:
    """A sender of a transfer of a minute; returned after its first interval."""
    settings = {"duration_ns": 60 * 10**9, "interval_ns": 50_000_000} | options
    argv = rttcp.sender_argv("127.0.0.1", BINARY, port=port, **settings)
    sender = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    deadline = time.monotonic() + DEADLINE_S
    while read_line(sender, deadline)["event"] != "interval":
        pass
    return sender


class FlippingProxy:
    """Sits on the data connection and flips one bit at an offset: what a path does that a TCP checksum does not see."""

    def __init__(self, target: tuple[str, int], flip_at: int) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.thread = threading.Thread(target=self._run, args=(target, flip_at), daemon=True)
        self.thread.start()

    def _run(self, target: tuple[str, int], flip_at: int) -> None:
        inside, _ = self.server.accept()
        with inside, socket.create_connection(target) as outside:
            done = 0
            while data := bytearray(inside.recv(65536)):
                if done <= flip_at < done + len(data):
                    data[flip_at - done] ^= 0x10
                done += len(data)
                outside.sendall(data)
            outside.shutdown(socket.SHUT_WR)
        self.server.close()


def flip_in_stream_0(flip_at: int) -> Callable[[dict[str, Any]], None]:
    """A ``change`` for :func:`control_proxy` that routes the data connection of stream 0 through a FlippingProxy."""

    def through_proxy(message: dict[str, Any]) -> None:
        if message["type"] == "accept":
            stream = message["streams"][0]
            stream["port"] = FlippingProxy(("127.0.0.1", stream["port"]), flip_at).port

    return through_proxy


def frame(message: object) -> bytes:
    """A message of the control connection."""
    octets = json.dumps(message).encode()
    return struct.pack(">I", len(octets)) + octets


def receive_frame(peer: socket.socket) -> dict[str, Any]:
    """The next message of a control connection."""
    peer.settimeout(DEADLINE_S)
    (length,) = struct.unpack(">I", peer.recv(4, socket.MSG_WAITALL))
    result: dict[str, Any] = json.loads(peer.recv(length, socket.MSG_WAITALL))
    return result


def control_proxy(
    receiver_port: int,
    change: Callable[[dict[str, Any]], None] = lambda message: None,
    change_sent: Callable[[dict[str, Any]], None] = lambda message: None,
) -> int:
    """Passes one control connection on; ``change`` sees, and may change, what the receiver says, ``change_sent`` what
    the sender says. A message that becomes empty is not passed on. Returns the proxy's port."""
    server = socket.create_server(("127.0.0.1", 0))

    def pump(source: socket.socket, sink: socket.socket, look: Callable[[dict[str, Any]], None]) -> None:
        pending = b""
        with contextlib.suppress(OSError):  # an end that has gone away
            while data := source.recv(65536):
                pending += data
                while len(pending) >= 4 and len(pending) >= 4 + (length := int.from_bytes(pending[:4], "big")):
                    message, pending = json.loads(pending[4 : 4 + length]), pending[4 + length :]
                    look(message)
                    sink.sendall(frame(message) if message else b"")
            sink.shutdown(socket.SHUT_WR)

    def serve() -> None:
        sender, _ = server.accept()
        with sender, server, socket.create_connection(("127.0.0.1", receiver_port)) as receiver:
            back = threading.Thread(target=pump, args=(receiver, sender, change), daemon=True)
            back.start()
            pump(sender, receiver, change_sent)
            back.join(DEADLINE_S)

    threading.Thread(target=serve, daemon=True).start()
    return int(server.getsockname()[1])
