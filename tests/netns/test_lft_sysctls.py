"""A gateway restores what it changed in its namespace when it exits, and when it was killed."""

from __future__ import annotations

import pytest
from lft_lab import ROUTER, Lab, in_netns, lft_lab

from netcommon.binaries import find

pytestmark = [pytest.mark.netns]

DEMUX, REFLECT = "net.ipv4.tcp_early_demux", "net.ipv4.fwmark_reflect"


def value(lab: Lab, name: str) -> str:
    return in_netns(lab.near, "sysctl", "-n", name).strip()


def test_sysctls_get_their_values_back() -> None:
    with lft_lab() as lab, lab.stopping():
        for demux, reflect, killed in (("0", "1", False), ("1", "0", False), ("0", "0", True)):
            in_netns(lab.near, "sysctl", "-qw", f"{DEMUX}={demux}", f"{REFLECT}={reflect}")
            lab.start("near", *ROUTER)
            assert (value(lab, DEMUX), value(lab, REFLECT)) == ("0", "1"), "while it runs"
            if killed:
                lab.kill("near")
                in_netns(lab.near, str(find("lft-gateway")), "clean")
            else:
                lab.stop("near")
            assert (value(lab, DEMUX), value(lab, REFLECT)) == (demux, reflect), "afterwards"


def test_the_host_model_leaves_early_demultiplexing_alone() -> None:
    with lft_lab() as lab, lab.stopping():
        in_netns(lab.near, "sysctl", "-qw", f"{DEMUX}=0")
        lab.start("near", "--host")
        lab.stop("near")
        assert value(lab, DEMUX) == "0"
