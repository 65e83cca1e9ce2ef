"""Data that a killed transfer leaves in flight are removed at once, with their memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

from netcommon import netns

pytestmark = pytest.mark.netns

# A connection within one namespace whose receiver does not read, so that closing it leaves data behind.
ABANDON = """\
import socket, sys
server = socket.create_server(("127.0.0.1", 0))
near = socket.create_connection(server.getsockname())
far, _ = server.accept()
near.setblocking(False)
try:
    while True:
        near.send(bytes(1 << 20))
except BlockingIOError:
    near.close()
print("ready", flush=True)
sys.stdin.read()
"""


def sockets(pid: int) -> str:
    command = ["nsenter", f"--net=/proc/{pid}/ns/net", "ss", "--tcp", "--no-header", "state", "connected"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_abandoned_connections_end() -> None:
    program = ["unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$0" -c "$1"', sys.executable, ABANDON]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        process.stdout.readline()
        assert "FIN-WAIT-1" in sockets(process.pid)
        netns.end_abandoned_connections(process.pid)
        left = sockets(process.pid)
        process.stdin.close()
    assert "FIN-WAIT-1" not in left, left
