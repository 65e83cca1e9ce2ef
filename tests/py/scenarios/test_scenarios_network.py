"""Addresses, routes, profiles and tool command lines, without touching a network."""

from __future__ import annotations

from pathlib import Path

import pytest

from netcommon import binaries
from scenarios.network import sysctls
from scenarios.plan import profiles
from scenarios.plan.model import Scenario
from scenarios.plan.plan import load_plan
from scenarios.run import checks
from scenarios.trial import delay_box, transfer_tool


def test_bsd_1995_is_what_the_paper_row_needs() -> None:
    bsd = profiles.load("bsd-1995")
    wanted = {"sack": "0", "recovery": "0", "early_retrans": "0", "frto": "0", "timestamps": "0", "reordering": "127"}
    for name, value in wanted.items():
        assert bsd.sysctls[f"net.ipv4.tcp_{name}"] == value
        assert f"net.ipv4.tcp_{name}" in bsd.required
    assert (bsd.congestion, bsd.rto_min_ms) == ("reno", 1000)


def test_profiles_set_the_same_things() -> None:
    modern, bsd = profiles.load("modern"), profiles.load("bsd-1995")
    assert set(bsd.sysctls) <= set(modern.sysctls)
    assert modern.rto_min_ms is None


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> Scenario:
    monkeypatch.setattr(binaries, "find", lambda name: Path("/tools") / name)
    return load_plan("lfp-syndrome", quick=True).trials[0].setting


def test_rttcp_gets_exact_values(setting: Scenario) -> None:
    commands = transfer_tool.commands(setting, profiles.load("bsd-1995"), "10.77.2.2", Path("/x/samples"))
    line = " ".join(commands.sender)
    parts = ["--transmit 10.77.2.2", "-4", "--length 4096", "--congestion reno", "--duration 4000000000ns"]
    for part in [*parts, "--window 8192"]:
        assert part in line
    assert "--bytes" not in line
    assert commands.receiver[:2] == ["/tools/rttcp", "--receive"]
    assert commands.samples == Path("/x/samples")


def test_the_box_is_told_what_is_set_and_nothing_else(setting: Scenario) -> None:
    told = delay_box.parameters(setting.path.direction("ab"), "ip")
    assert told == {
        "delay_ns": 4_200_000,
        "rate_bps": 45_000_000,
        "queue_bytes": 112_640,
        "access_rate_bps": 100_000_000,
        "framing": "ip",
    }


def test_doctor_says_what_to_do_about_everything_that_is_not_ok() -> None:
    found = checks.everything()
    assert {"privileges", "tool comet-delay", "program mnexec", "profile bsd-1995"} <= {check.name for check in found}
    for check in found:
        assert check.state == "ok" or check.remedy, check


def test_a_profile_that_this_kernel_cannot_have_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysctls, "unknown_sysctls", lambda profile: ["net.ipv4.tcp_sack", "net.ipv4.tcp_new"])
    states = {check.name: check for check in checks.kernel_features()}
    assert states["profile bsd-1995"].state == "missing"
    assert "net.ipv4.tcp_sack" in states["profile bsd-1995"].detail
