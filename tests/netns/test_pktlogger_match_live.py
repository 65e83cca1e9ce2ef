"""`pktlogger match` live at an interface: patterns in traffic between two hosts are found as it passes."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from comet_box import Hosts, ip, two_hosts
from push_measures import veth

from netcommon.binaries import find
from netcommon.netns import call_in

pytestmark = pytest.mark.netns

LEFT, RIGHT = "10.78.0.1", "10.78.0.2"


@contextmanager
def connected(hosts: Hosts) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A TCP connection from left to right over a veth pair."""
    veth(hosts)
    for netns, address in ((hosts.left, LEFT), (hosts.right, RIGHT)):
        ip("-n", netns, "addr", "add", f"{address}/24", "dev", "wan")
    with call_in(hosts.right, socket.create_server, (RIGHT, 5010)) as listener:
        client = call_in(hosts.left, socket.create_connection, (RIGHT, 5010), 30)
        server, _ = listener.accept()
        with client, server:
            yield client, server


def test_a_pattern_is_found_live_also_split_over_writes(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text('split string "needle in a stream" opener\nreply regex /ans(wer)+/ once\n')
    with two_hosts() as hosts, connected(hosts) as (client, server):
        argv: list[str | Path] = [
            find("pktlogger"),
            "match",
            "--json",
            "--rules",
            tmp_path / "rules",
            "-i",
            f"wan@{hosts.right}",
        ]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as match:
            assert match.stdout and json.loads(match.stdout.readline())["event"] == "ready"
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for part in (b"a needle in", b" a str", b"eam, " + b"x" * 300_000, b"needle in a stream"):
                client.sendall(part)
            got = 0
            while got < 300_040:
                got += len(server.recv(1 << 20))
            server.sendall(b"the answerwerwer")
            hits: list[dict[str, Any]] = [json.loads(match.stdout.readline()) for _ in range(3)]  # while it runs
            match.terminate()
            rest, _ = match.communicate(timeout=30)
    end = json.loads(rest.splitlines()[-1])
    assert [(hit["rule"], hit["from"]["address"], hit["end"]) for hit in hits] == [
        ("split", LEFT, 20),
        ("split", LEFT, 300_040),
        ("reply", RIGHT, 10),
    ]
    assert all(not hit["from_start"] for hit in hits), "it began before"
    assert (end["hits"], end["dropped"], end["gaps"]) == (3, 0, 0) and end["scanned_bytes"] == 300_040 + 16


def test_an_interface_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text('a string "a"\n')
    argv: list[str | Path] = [find("pktlogger"), "match", "--rules", tmp_path / "rules", "-i", "nothing0"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    assert done.returncode == 3 and "--interface 'nothing0': " in done.stderr and done.stderr.count("\n") == 1
