"""rttcp transfers over a comet-delay path: called in virtual time (support.virtual)."""

from __future__ import annotations

import json
import subprocess
import tempfile
from typing import Any

from comet_box import RIGHT, Box, Hosts, in_netns, two_hosts

import rttcp
from netcommon.binaries import find


def transfer(path: dict[str, str], options: list[str]) -> list[dict[str, Any]]:
    """The sender's output: `interval` lines and its `end`."""
    with two_hosts() as hosts, Box(hosts, **path) as box:
        return _events(hosts, options, box)


def without_and_with_key(path: dict[str, str], options: list[str]) -> list[dict[str, Any]]:
    """The `end` of a transfer without a key and of the same transfer with one."""
    with two_hosts() as hosts, Box(hosts, **path) as box, tempfile.NamedTemporaryFile("w") as key:  # of mode 0600
        key.write("5f" * 32)
        key.flush()
        return [_events(hosts, options, box, named)[-1] for named in (None, key.name)]


def _events(hosts: Hosts, options: list[str], box: Box, key: str | None = None) -> list[dict[str, Any]]:
    binary = find("rttcp")
    receive = rttcp.receiver_argv(binary, once=True, key=key)
    server = subprocess.Popen(["ip", "netns", "exec", hosts.right, *receive], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout and json.loads(server.stdout.readline())["event"] == "ready"
        out = in_netns(hosts.left, *rttcp.sender_argv(RIGHT, binary, key=key), *options)
        server.communicate(timeout=60)
    finally:
        server.kill()
        server.wait()
    assert box.show()["verdict"]["valid"]
    return [json.loads(line) for line in out.splitlines()]
