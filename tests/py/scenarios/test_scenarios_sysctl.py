"""profile.sysctl: sysctls that a scenario adds to its profile, as one text."""

from __future__ import annotations

from pathlib import Path

import pytest

from netcommon.errors import UsageError
from scenarios.plan import params, profiles
from scenarios.plan.plan import Plan, load_plan
from scenarios.virtual import boxes, memory

STREAM = '[scenario]\nname = "stream"\n[path]\nrate = "100Mbit"\n[transfer]\nduration = "1s"\n'
WMEM = "net.ipv4.tcp_wmem=4096 16384 262144"


def plan(tmp_path: Path, sysctl: str) -> Plan:
    file = tmp_path / "stream.toml"
    file.write_text(STREAM + f'[profile]\nsysctl = "{sysctl}"\n')
    return load_plan(str(file), seed=1)


def test_own_sysctls_replace_the_profiles_and_must_be_taken(tmp_path: Path) -> None:
    found = profiles.of(plan(tmp_path, "net.ipv4.tcp_sack = 0;  net.ipv4.tcp_wmem=4096\\t16384 262144").base.profile)
    modern = profiles.load("modern")
    assert found.sysctls == modern.sysctls | {
        "net.ipv4.tcp_sack": "0",
        "net.ipv4.tcp_wmem": "4096 16384 262144",
    }
    assert found.required == modern.required | {"net.ipv4.tcp_sack", "net.ipv4.tcp_wmem"}
    assert found.name == f"modern + net.ipv4.tcp_sack=0; {WMEM}"


def test_without_it_the_profile_is_as_it_was(tmp_path: Path) -> None:
    setting = plan(tmp_path, "none").base
    assert profiles.of(setting.profile) == profiles.load("modern")


def test_it_is_a_column_and_can_be_swept(tmp_path: Path) -> None:
    file = tmp_path / "swept.toml"
    file.write_text(STREAM + f'[sweep]\n"profile.sysctl" = ["none", "{WMEM}"]\n')
    trials = load_plan(str(file), seed=1).trials
    assert [params.of(trial)["sysctl"] for trial in trials] == ["none", WMEM]


@pytest.mark.parametrize(
    ("sysctl", "why"),
    [
        ("net.ipv4.tcp_sack=0; net.ipv4.tcp_sack=1", "'net.ipv4.tcp_sack' is given twice"),
        ("net.ipv4.tcp_congestion_control=bbr", "use transfer.congestion"),
        ("net.ipv4.tcp_mem=1000 2000 3000", "'net.ipv4.tcp_mem': of the whole machine"),
        ("net.ipv4.tcp_sack=0; vm.swappiness=1", "'vm.swappiness=1': want NAME=VALUE"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, sysctl: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        plan(tmp_path, sysctl)


@pytest.mark.parametrize(("sysctl", "zerocopy"), [("none", True), ("net.ipv4.tcp_sack=0", True), (WMEM, None)])
def test_data_are_copied_where_the_send_buffer_is_the_scenarios(
    tmp_path: Path, sysctl: str, zerocopy: bool | None
) -> None:
    """Zero-copy data do not count in the send buffer, which then limits nothing. How much data fits into the buffer
    depends on the length of writes, which virtual time does not change."""
    (trial,) = plan(tmp_path, sysctl).trials
    transfer = boxes.settled(trial, "auto").setting.transfer
    assert transfer.zerocopy is zerocopy
    assert transfer.write_bytes == 8192


def test_a_guest_has_memory_for_buffers_that_begin_large(tmp_path: Path) -> None:
    """Such buffers fill at once, whatever the path holds, and TCP has three quarters of a guest's memory."""
    small, large = (plan(tmp_path, f"net.ipv4.tcp_wmem=4096 {first} {2**28}").base for first in (16384, 2**28))
    assert memory.guest_bytes(large) - memory.guest_bytes(small) == pytest.approx(2**28 / 0.75)
    four = large.model_copy(update={"transfer": large.transfer.model_copy(update={"parallel": 4})})
    assert memory.guest_bytes(four) > 4 * 2**28 / 0.75


@pytest.mark.parametrize(
    ("path", "congestion", "most"),
    [
        ('queue = "1MB"', "reno", 2**20),
        ("queue_packets = 100", "reno", 150_000),
        ("", "reno", 100_000_000 // 8),  # without a bound of the queue: a second's worth of data
        ("", "bbr", 0),  # BBR queues no more than is in flight, which is nothing without a delay
    ],
)
def test_a_guest_has_memory_for_what_stands_in_a_queue(tmp_path: Path, path: str, congestion: str, most: int) -> None:
    file = tmp_path / "stream.toml"
    file.write_text(STREAM.replace("[transfer]", f"{path}\n[transfer]") + f'congestion = "{congestion}"\n')
    assert memory.in_flight_bytes(load_plan(str(file), seed=1).base) == most
