"""pktlogger: an option that would have no effect with the other options is refused, with a line that says what to
do."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from netcommon.binaries import find

JOINED = ("--sender", "s", "--receiver", "r", "-o", "x")
REPLAY = ("push", "--replay", "f", "-i", "lo")
IDLE = [
    (("export", "--csv", *JOINED, "--max-flows", "5"), "--max-flows", "without --pcap-per-flow"),
    (("export", "--pcap-per-flow", "d", "c", "--from", "0"), "--from", "with --pcap-per-flow, which takes one capture"),
    (("capture", "-i", "lo", "-w", "f", "--files", "3"), "--files", "without --rotate-size or --rotate-time"),
    *(
        (("match", "-r", "f", "c", *option), option[0], "without --interface")
        for option in (("--filter", "tcp"), ("--duration", "5s"), ("--packets", "7"), ("--buffer", "2MB"))
    ),
    (("push", "::1", "-c", "1", "--burst", "4"), "--burst", "without --schedule burst"),
    (("push", "::1", "-c", "1", "--schedule", "poisson", "--burst", "4"), "--burst", "without --schedule burst"),
    (("push", "::1", "-c", "1", "--schedule", "burst", "--seed", "4"), "--seed", "without --schedule poisson"),
    (("push", "::1", "--departures", "f", "--pps", "4"), "--pps", "with --departures"),
    (("push", "::1", "--departures", "f", "--schedule", "constant"), "--schedule", "with --departures"),
    (("push", "::1", "-c", "1", "--pps", "0", "--schedule", "burst"), "--schedule", "with --pps 0"),
    ((*REPLAY, "--schedule", "poisson"), "--schedule", "without --pps"),
    *(
        ((*REPLAY, *option), option[0], "with --replay")
        for option in (("--port", "9"), ("--protocol", "udp"), ("--size", "100"), ("--flows", "2"))
    ),
]


@pytest.mark.parametrize(("arguments", "option", "why"), IDLE, ids=[" ".join(row[0]) for row in IDLE])
def test_an_option_without_effect_is_refused(arguments: tuple[str, ...], option: str, why: str, tmp_path: Path) -> None:
    argv = [str(find("pktlogger")), *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, cwd=tmp_path)
    message = json.loads(done.stdout)["message"]
    assert done.returncode == 2 and done.stderr == f"pktlogger: {message}\n"
    assert message.startswith(f"{option} has no effect {why}; leave {option} out"), message
    assert not list(tmp_path.iterdir())
