"""Runs `backend_checks.py`, which tests the real netem back end and compares it with the box: in virtual time where its
kernel is built, because that clock does not depend on the machine's load; else on this kernel, or in Debian's user-mode
Linux if this kernel has no netem."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import guest
import pytest

from comet_delay.backend import capabilities
from netcommon.binaries import find
from scenarios.virtual import kernel, program

pytestmark = pytest.mark.netns

ROOT = Path(__file__).resolve().parents[2]
CHECKS = [sys.executable, "-m", "pytest", "-q", "-rsP", "--color=no", "-p", "no:cacheprovider", "--noconftest"]
CHECKS += ["tests/uml/backend_checks.py"]
MODULES = ("veth", "sch_netem", "sch_tbf", "sch_ingress", "cls_matchall", "act_mirred", "tun", "af_packet", "ipv6")


def checks() -> guest.Result:
    # every plug-in costs start-up time in a guest
    environment = {"LFP_COMET_DELAY": str(find("comet-delay")), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    if not kernel.missing():
        inside = program.run(CHECKS, folder=ROOT, memory_bytes=768 * 2**20, timeout_s=240, environment=environment)
        return guest.Result(inside.status, inside.output, "")
    if not capabilities("netem").missing:
        done = subprocess.run(CHECKS, cwd=ROOT, capture_output=True, text=True, timeout=150)
        return guest.Result(done.returncode, done.stdout + done.stderr, "")
    if why := guest.missing():
        pytest.skip(f"this kernel has no netem, and no other can be booted: {why}")
    return guest.run(CHECKS, modules=MODULES, environment=environment, folder=ROOT, timeout_s=150)


def test_both_back_ends_do_what_theory_says_and_agree() -> None:
    done = checks()
    print(done.output)
    assert done.status == 0, done.output + done.console
    assert re.search(r"^\d+ passed", done.output, re.MULTILINE) and "skipped" not in done.output, done.output
