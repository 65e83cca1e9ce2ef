"""VLAN interfaces on both sides of an attached box, also on a machine whose own kernel lacks them. The guest's kernel
(6.1) also tests packet sockets that know only the short virtio-net header and no UDP super-packets."""

from __future__ import annotations

import sys
from pathlib import Path

import guest
import pytest

from netcommon.binaries import find

pytestmark = pytest.mark.netns

ROOT = Path(__file__).resolve().parents[2]
TESTS = "tests/netns/test_comet_delay_attach.py"


def test_vlan_interfaces_in_another_kernel() -> None:
    if why := guest.missing():
        pytest.skip(why)
    done = guest.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"{TESTS}::test_vlan_interfaces"],
        modules=("veth", "af_packet", "8021q", "ipv6"),
        folder=ROOT,
        timeout_s=150,
        environment={"LFP_COMET_DELAY": str(find("comet-delay"))},
    )
    assert done.status == 0 and "1 passed" in done.output, done.output + done.console
