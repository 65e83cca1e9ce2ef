"""rttcp transfers over a comet-delay path: called in virtual time (support.virtual)."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from comet_box import RIGHT, Box, Hosts, in_netns, two_hosts

import rttcp
from netcommon.binaries import find


def transfer(path: dict[str, str], options: list[str]) -> list[dict[str, Any]]:
    """What the sender printed: `interval` lines and its `end`."""
    with two_hosts() as hosts, Box(hosts, **path) as box:
        return _events(hosts, options, box)


def _events(hosts: Hosts, options: list[str], box: Box) -> list[dict[str, Any]]:
    binary = find("rttcp")
    receive = rttcp.receiver_argv(binary, once=True)
    server = subprocess.Popen(["ip", "netns", "exec", hosts.right, *receive], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout and json.loads(server.stdout.readline())["event"] == "ready"
        out = in_netns(hosts.left, *rttcp.sender_argv(RIGHT, binary), *options)
        server.communicate(timeout=60)
    finally:
        server.kill()
        server.wait()
    assert box.show()["verdict"]["valid"]
    return [json.loads(line) for line in out.splitlines()]
