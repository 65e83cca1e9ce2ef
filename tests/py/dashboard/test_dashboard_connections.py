"""A client without the token can use little of the dashboard's memory, and takes no connection from others."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support import synthetic_run
from support.served_dashboard import served

from dashboard.server.connections import SETTINGS, SHARE

IDLE = 200  # more than there are places


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """The printed URL of a dashboard that listens on all addresses, with 127.0.0.1 as host, and its process id."""
    with served(synthetic_run.seqack(tmp_path_factory.mktemp("runs")), "--host", "0.0.0.0") as (url, process):
        yield url.replace("0.0.0.0", "127.0.0.1"), process.pid


def _idle(url: str, source: str, sent: bytes) -> socket.socket:
    """A connection from ``source`` that has sent these octets and is silent from then on."""
    made = socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), timeout=10, source_address=(source, 0))
    made.sendall(sent)
    return made


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n", b"POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\n"]
)
@pytest.mark.parametrize("source", ["127.0.0.1", "127.0.0.2"])
def test_idle_connections_keep_nobody_out(sent: bytes, source: str, page: tuple[str, int]) -> None:
    url, _ = page
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(_idle(url, source, sent)) for _ in range(IDLE)]
        with opener.open(url, timeout=20) as answer:
            assert answer.status == 200
        assert sum(map(_is_open, held)) <= SHARE


def _is_open(held: socket.socket) -> bool:
    held.settimeout(2)
    try:
        held.setblocking(False)
        return held.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def _resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_large_body_is_refused_before_it_is_taken(page: tuple[str, int]) -> None:
    url, pid = page
    before = _resident_bytes(pid)
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(url).port or 0, timeout=20)
    connection.putrequest("POST", "/_dash-update-component")
    connection.putheader("Content-Length", str(150 << 20))
    connection.endheaders()
    with contextlib.suppress(OSError):  # the server may close before it has read all
        for _ in range(150):
            connection.send(bytes(1 << 20))
    with contextlib.suppress(OSError, http.client.HTTPException):
        assert connection.getresponse().status == 413
    connection.close()
    assert _resident_bytes(pid) - before < 8 * SETTINGS["max_request_body_size"]
