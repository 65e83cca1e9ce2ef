"""rttcp through the delay box: bits forged past the TCP checksum, a path that is cut, many streams of both families."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from comet_box import RIGHT, RIGHT6, Box, Hosts, two_hosts

import rttcp
from comet_delay import Control

REPOSITORY = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("LFP_RTTCP") or str(REPOSITORY / "build" / "release" / "bin" / "rttcp")
DEADLINE_S = 60.0
MASK = (1 << 64) - 1

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root"),
    pytest.mark.skipif(not Path(BINARY).exists(), reason=f"{BINARY} is not built"),
]


def _splitmix64(state: int) -> tuple[int, int]:
    state = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return state, z ^ z >> 31


def _content(seed: int, stream: int, offset: int, size: int) -> bytes:
    """The content as PROTOCOL.md specifies it, implemented a second time."""
    state = _splitmix64(seed)[1] ^ _splitmix64(stream ^ 0x5EED0F1995)[1]
    state, start = _splitmix64(state)
    k = _splitmix64(state)[1]
    octets = b""
    for i in range(offset // 8, (offset + size) // 8 + 1):
        a = (start + i * 0xA0761D6478BD642F) & MASK
        for _ in range(3):
            p = (a & 0xFFFFFFFF) * 0xD256D193
            a = (p << 32 | p >> 32) & MASK ^ a >> 32 ^ k
        octets += a.to_bytes(8, "little")
    return octets[offset % 8 : offset % 8 + size]


def _start(namespace: str, argv: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["ip", "netns", "exec", namespace, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )


class Pair:
    """A receiver on the right, a sender on the left; both reaped."""

    def __init__(self, hosts: Hosts, address: str = RIGHT, **options: Any) -> None:
        self.server = _start(hosts.right, rttcp.receiver_argv(BINARY, once=True))
        assert self.server.stdout is not None and b'"ready"' in self.server.stdout.readline()
        self.sender = _start(hosts.left, rttcp.sender_argv(address, BINARY, **options))

    def wait_interval(self) -> None:
        """Waits until the sender has printed an event of this kind."""
        assert self.sender.stdout is not None
        while b'"interval"' not in self.sender.stdout.readline():
            pass

    def ends(self) -> tuple[int, dict[str, Any], int, dict[str, Any], str]:
        """Status and `end` of the sender, then of the receiver; the sender's stderr."""
        try:
            mine, errors = self.sender.communicate(timeout=DEADLINE_S)
            theirs, _ = self.server.communicate(timeout=DEADLINE_S)
        finally:
            for process in (self.sender, self.server):
                process.kill()
                process.wait()
        found = [next(e for e in map(json.loads, out.splitlines()) if e["event"] == "end") for out in (mine, theirs)]
        return self.sender.returncode, found[0], self.server.returncode, found[1], errors.decode()


def _queued_bytes(hosts: Hosts) -> int:
    """Octets that the kernel still has to send, over all connections of both hosts."""
    show = [["ip", "netns", "exec", each, "ss", "-Htan"] for each in (hosts.left, hosts.right)]
    lines = [subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines() for argv in show]
    return sum(int(line.split()[2]) for line in itertools.chain.from_iterable(lines) if not line.startswith("LISTEN"))


def test_a_bit_forged_past_the_checksum_is_found_where_it_is() -> None:
    """One packet in 2,000 forged: none in 20 MB (13,800 packets) has probability 0.001; the seed is fixed."""
    seed = 20061
    with two_hosts() as hosts, Box(hosts, ab_forge="0.0005", delay="1ms", seed="3") as box:
        status, mine, their_status, theirs, errors = Pair(hosts, bytes=20_000_000, verify=True, seed=seed).ends()
        forged = box.show()["statistics"]["ab"]
    assert status == 1 and their_status == 1, (errors, forged)
    stream = theirs["receiver"]["streams"][0]
    offset = stream["mismatch_offset"]
    assert stream["mismatch"] and f"stream 0, offset {offset}:" in errors
    expected, got = bytes.fromhex(stream["expected"]), bytes.fromhex(stream["got"])
    assert expected == _content(seed, 0, offset, 8), "the offset is right"
    assert (int.from_bytes(expected[: len(got)]) ^ int.from_bytes(got)).bit_count() == 1
    for end in (mine, theirs):
        assert end["summary"]["verified"] == "mismatch" and not end["summary"]["verdict"]["valid"]
        assert not end["complete"]
        assert end["summary"]["bytes"] == 20_000_000, "TCP noticed nothing"


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_a_path_cut_for_longer_than_the_timeout(direction: str) -> None:
    with two_hosts() as hosts, Box(hosts, delay="5ms", rate="50Mbit") as box:
        times_ns: dict[str, Any] = {"duration_ns": 60 * 10**9, "timeout_ns": 2 * 10**9, "interval_ns": 10**8}
        pair = Pair(hosts, direction=direction, **times_ns)
        pair.wait_interval()
        with Control(box.socket) as control:
            control.set(loss="100%")
        status, mine, their_status, theirs, errors = pair.ends()
        assert _queued_bytes(hosts) < 32768, "the last words at most: given up data are not sent on"
    assert status == 1 and their_status == 1
    assert errors.count("\n") == 1 and "(--timeout)" in errors
    for end, ours in ((mine, mine["role"]), (theirs, theirs["role"])):
        assert end["complete"] is False and end[ours]["bytes"] > 0 and end[ours]["partial"]
        assert end["error"] and end["summary"]["ended_by"] == "error"


@pytest.mark.parametrize("address", [RIGHT, RIGHT6])
def test_four_verified_streams_both_ways_with_a_window(address: str) -> None:
    with two_hosts() as hosts, Box(hosts, delay="2ms", rate="200Mbit"):
        options = {"bytes": 8_000_000, "window_bytes": 128 << 10, "parallel": 4, "direction": "both", "verify": True}
        status, mine, their_status, theirs, errors = Pair(hosts, address, **options).ends()
    assert status == 0 and their_status == 0, errors
    for end in (mine, theirs):
        for way in (end, end["reverse"]):
            assert way["summary"]["verified"] == "ok" and way["summary"]["bytes"] == 8_000_000
            assert way["receiver"]["window_clamp_bytes"] == 128 << 10
            # 4 streams of a window a round trip, and no more than the path
            assert way["summary"]["short_term_bps"] < 200e6
