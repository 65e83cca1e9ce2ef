"""The systemd units of the daemons: systemd itself judges how exposed each unit leaves its service."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from netcommon.binaries import CHECKOUT

UNITS = sorted(CHECKOUT.glob("*/*.service"))
# The highest allowed score of `systemd-analyze security`. 0 is best; a unit without sandbox options has 9.6.
ALLOWED = {"lft-gateway": 4.5, "comet-delay": 5.0, "rttcp": 4.0, "lfp-dashboard": 2.0}
# capabilities with which a daemon started by root becomes nobody, and which it then gives up (netcommon/src/sandbox)
TO_BECOME_NOBODY = {"CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"}


def settings(unit: Path) -> dict[str, str]:
    return dict(re.findall(r"^(\w+)=(.*)$", unit.read_text(encoding="utf-8"), re.MULTILINE))


def test_every_daemon_has_a_unit() -> None:
    assert {unit.stem for unit in UNITS} == ALLOWED.keys()


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_leaves_little_exposed(unit: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze")
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", unit],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    found = re.search(r"exposure level for \S+: ([\d.]+)", judged.stdout)
    assert found, judged.stderr
    assert float(found[1]) <= ALLOWED[unit.stem]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_bounds_what_the_manual_page_promises(unit: Path) -> None:
    """The unit may grant capabilities for opening resources, and must grant those that the manual page says are
    kept."""
    if settings(unit).get("DynamicUser") == "yes":  # no root, so nothing to give up
        assert settings(unit)["CapabilityBoundingSet"] == ""
        assert settings(unit)["NoNewPrivileges"] == "yes" and settings(unit)["LimitCORE"] == "0"
        return
    page = next(unit.parent.glob(f"{unit.stem}.1")).read_text(encoding="utf-8")
    stays = re.search(r"^\.SH SECURITY\n.*?^\.B capabilities\n([^\n]*)", page, re.MULTILINE | re.DOTALL)
    assert stays
    words = " ".join(re.findall(r"\\fB(.*?)\\fR", stays[1])).split()
    granted = set(settings(unit)["CapabilityBoundingSet"].split())
    assert {f"CAP_{word.upper()}" for word in words} | TO_BECOME_NOBODY <= granted
    assert not granted & {"CAP_SYS_ADMIN", "CAP_SYS_PTRACE", "CAP_SYS_MODULE", "CAP_DAC_OVERRIDE", "CAP_SYS_RAWIO"}
    assert settings(unit)["NoNewPrivileges"] == "yes" and settings(unit)["LimitCORE"] == "0"
