"""Every tool, every verb: a command line that it does not accept gives a JSON error event, and the same line on
stderr."""

from __future__ import annotations

import json
import subprocess

import pytest
from support.manual import PAGES

from netcommon import options
from netcommon.binaries import find

COMMANDS = [(page.stem, *([verb] if verb else [])) for page in PAGES for verb in options.verbs(page.stem)]
ZONE = "a link-local address wants its interface behind it, as in fe80::1%eth0"
WRONG = [
    (("comet-delay", "run", "--rate", "fast"), "--rate 'fast': not a rate"),
    (("comet-delay", "run", "--delay", "4.2"), "--delay '4.2': has no unit; write 4.2ms or 4.2s"),
    (("comet-delay", "run", "--ba-rate", "5"), "--ba-rate '5': has no unit; write 5Mbit or 5bit"),
    (("comet-delay", "run", "--loss", "1", "--check"), "'1': has no unit; write 1% or 100%"),
    (("rttcp", "-t", "nowhere", "-d", "10"), "--duration '10': has no unit; write 10ms or 10s"),
    (("lft-sim", "--loss", "5"), "--loss '5': has no unit; write 5%"),
    (("comet-delay", "run", "--ab-framing", "atm"), "--ab-framing 'atm': allowed is one of l2, ethernet, ip"),
    (("comet-delay", "run", "--a", "tap:x"), "--b: missing"),
    (("comet-delay", "dance"), "'dance': want one of run, show"),
    (("comet-delay", "rnu"), "'rnu': did you mean run? want one of run, show"),
    (("pktlogger", "index", "--outptu", "x"), "--outptu: no such option; did you mean --output? see --help"),
    (("rttcp", "--congestoin=cubic"), "--congestoin=cubic: no such option; did you mean --congestion? see --help"),
    (("rttcp", "-t", "nowhere", "--bytes", "-5"), "--bytes '-5'"),
    (("pktlogger", "capture", "--snap", "many"), "--snap 'many'"),
    (("lft-gateway", "run", "--rate", "fast"), "--rate 'fast': not a rate"),
    (("rttcp", "-t", "fe80::1"), f"--transmit 'fe80::1': {ZONE}"),
    (("rttcp", "-r", "--bind", "fe80::1"), f"--bind 'fe80::1': {ZONE}"),
    (("pktlogger", "push", "fe80::1", "--packets", "1"), f"'fe80::1': {ZONE}"),
    (("pktlogger", "sink", "--listen", "fe80::1", "--duration", "1ms"), f"--listen 'fe80::1': {ZONE}"),
    *(((*command, "--no-such-option"), "--no-such-option: no such option") for command in COMMANDS),
]


def test_no_tool_and_no_verb_is_left_out() -> None:
    tools = {command[0] for command in COMMANDS}
    assert tools >= {"comet-delay", "rttcp", "pktlogger", "lft-gateway", "lft-sim", "timer-witness"}
    assert {("lft-gateway", "run"), ("comet-delay", "watch"), ("pktlogger", "export")} <= set(COMMANDS)


@pytest.mark.parametrize(("command", "said"), WRONG, ids=[" ".join(command) for command, _ in WRONG])
def test_a_wrong_command_line_is_an_error_event(command: tuple[str, ...], said: str) -> None:
    done = subprocess.run([find(command[0]), *command[1:]], capture_output=True, text=True, timeout=10, check=False)
    assert done.returncode == 2
    event = json.loads(done.stdout.splitlines()[-1])
    assert (event["v"], event["event"], event["status"]) == (1, "error", 2)
    assert said in event["message"], event
    assert done.stderr == f"{command[0]}: {event['message']}\n"
