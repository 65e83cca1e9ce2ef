"""One source against others at the dashboard's page: connections, which are counted in real time on loopback."""

from __future__ import annotations

import contextlib
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from bench.attack.share import Share
from netcommon.errors import LfpError

ONE = "127.0.0.2"
EACH = 6  # connections of a browser
_START_S, _ANSWER_S, _SETTLE_S = 120, 20, 2


@contextlib.contextmanager
def _dashboard(runs: Path) -> Iterator[tuple[str, int]]:
    """Host and port of a dashboard without runs, whose gateway does not run either."""
    argv = [
        sys.executable,
        "-m",
        "lfp",
        "dashboard",
        "--runs-dir",
        str(runs),
        "--port",
        "0",
        "--gateway",
        str(runs / "none"),
    ]  # a dashboard that watches a tool starts without any run
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            ready = select.select([server.stdout], [], [], _START_S)[0]
            words = server.stdout.readline().split() if ready else []
            if not words:
                raise LfpError("attack.shares: lfp dashboard did not start; its own message is above")
            url = urlsplit(next(word for word in words if word.startswith("http")))
            yield url.hostname or "", url.port or 0
        finally:
            server.kill()


def _asks(sock: socket.socket) -> bool:
    """Whether a request is answered, over a persistent connection."""
    try:
        sock.sendall(b"HEAD / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        return sock.recv(1 << 16).startswith(b"HTTP/1.1 ")
    except OSError:
        return False


def _is_open(sock: socket.socket) -> bool:
    sock.setblocking(False)
    try:
        return bool(sock.recv(1))
    except BlockingIOError:
        return True
    except OSError:
        return False


def _left(held: list[socket.socket]) -> int:
    """How many connections are open, after the server has closed those that it wants to close."""
    before, now = -1, sum(map(_is_open, held))
    while now != before:
        time.sleep(_SETTLE_S)
        before, now = now, sum(map(_is_open, held))
    return now


def connections(scratch: Path, wanted: int, others: int) -> Share:
    """The one source opens this many connections and sends nothing; each other source opens as many as a browser does,
    twice."""
    with _dashboard(scratch) as at, contextlib.ExitStack() as stack:

        def connect(source: str) -> socket.socket:
            made = socket.create_connection(at, timeout=_ANSWER_S, source_address=(source, 0))
            return stack.enter_context(made)

        greedy = [connect(ONE) for _ in range(wanted)]
        browsers = [[connect(f"127.0.0.{10 + i}") for _ in range(EACH)] for i in range(others)]
        got = [sum(_asks(one) for one in browser) for browser in browsers]
        greedy += [connect(ONE) for _ in range(wanted)]
        got = [min(n, sum(_asks(one) for one in browser)) for n, browser in zip(got, browsers, strict=True)]
        return Share(_left(greedy), [float(n) for n in got], EACH, "connections")
