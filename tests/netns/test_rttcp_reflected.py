"""rttcp --key against reflection (RFC 9257, 4.1: "Selfie"): a host that both sends and receives with one key is led to
itself by somebody on the path, and would measure itself in place of its peer.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

import rttcp
from netcommon.binaries import find
from netcommon.process import START_TIMEOUT_S, Tool, ToolError

pytestmark = [pytest.mark.netns, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]
HOST, ATTACKER = "10.79.1.1", "10.79.1.2"


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def joined(stack: ExitStack) -> list[str]:
    """Two namespaces, joined by a link: the host's and the attacker's."""
    names = [f"lfpt-{role}{os.getpid()}" for role in ("host", "evil")]
    for name in names:
        ip("netns", "add", name)
        stack.callback(subprocess.run, ["ip", "netns", "del", name], check=False)
    ip("-n", names[0], "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", names[1])
    for name, address in zip(names, (HOST, ATTACKER), strict=True):
        ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
        for interface in ("lo", "eth0"):
            ip("-n", name, "link", "set", interface, "up")
    return names


def test_a_host_that_is_led_to_itself_says_so(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("5f" * 32)
    key.chmod(0o600)
    binary = find("rttcp")
    with ExitStack() as stack:
        host, attacker = joined(stack)
        stack.enter_context(
            rttcp.listening(
                rttcp.receiver_argv(binary, key=key), netns_pid=host, name="receiver", stderr_path=tmp_path / "r"
            )
        )
        relay = ["socat", f"tcp-l:{rttcp.DEFAULT_PORT},fork,reuseaddr", f"tcp:{HOST}:{rttcp.DEFAULT_PORT}"]
        stack.enter_context(Tool(relay, netns_pid=attacker, name="socat", json_lines=False))
        for address, wanted in ((HOST, None), (ATTACKER, "sends it back")):
            argv = rttcp.sender_argv(address, binary, key=key, bytes=100_000)
            with Tool(argv, netns_pid=host, name="sender", stderr_path=tmp_path / "s") as sender:
                if wanted:
                    with pytest.raises(ToolError, match=wanted):
                        sender.wait_event("end", START_TIMEOUT_S)
                else:
                    rttcp.finished(sender, START_TIMEOUT_S)
