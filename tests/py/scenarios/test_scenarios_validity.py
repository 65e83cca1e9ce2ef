"""The validity verdict: each cause alone makes a trial invalid, and says so; none leaves it valid."""

from __future__ import annotations

import copy
import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest

from scenarios.network.links import Counters
from scenarios.network.tcp_memory import TcpMemory
from scenarios.plan import lateness
from scenarios.plan.plan import load_plan
from scenarios.trial.validity import CpuTimes, Observation, reasons
from scenarios.trial.verdicts import KINDS, Reason

QUIET = Counters(0, 0, 0)
ENOUGH = TcpMemory(short=False, times=1)
GOOD: dict[str, Any] = {
    "before": Observation(
        {"snd:snd-r1": Counters(3, 0, 0)}, {"snd:snd-r1": {"rx-gro": False}}, CpuTimes(1000, 500, 0), ENOUGH
    ),
    "after": Observation(
        {"snd:snd-r1": Counters(3, 0, 0), "r1:r1-wan": QUIET},
        {"snd:snd-r1": {"rx-gro": False}},
        CpuTimes(2000, 1200, 0),
        ENOUGH,
    ),
    "box": {"verdict": {"valid": True, "reasons": []}},
    "capture": {"points": [{"interface": "snd-r1", "dropped_kernel": 0, "dropped_interface": 0}]},
    "transfer": {
        "sender": {"elapsed_ns": 10**9, "cpu_user_ns": 10**8, "cpu_system_ns": 10**8},
        "summary": {"verdict": {"valid": True, "reasons": []}},
    },
}


def found_in(**changes: Any) -> list[Reason]:
    return reasons(**(copy.deepcopy(GOOD) | changes))


def judged(**changes: Any) -> list[str]:
    return [reason.text for reason in found_in(**changes)]


def after(**changes: Any) -> Observation:
    found: Observation = GOOD["after"]
    return dataclasses.replace(found, **changes)


def test_nothing_wrong_is_valid() -> None:
    assert judged() == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"box": {"verdict": {"valid": False, "reasons": ["ab: 4 malformed frames dropped"]}}}, "delay box: ab: 4 mal"),
        ({"box": {}}, "no valid verdict"),
        ({"after": after(counters={"snd:snd-r1": Counters(3, 2, 0)})}, "snd:snd-r1: 2 drops"),
        ({"after": after(counters={"r1:r1-wan": Counters(0, 0, 4)})}, "r1:r1-wan: 0 drops, 4 errors"),
        ({"after": after(offloads={"snd:snd-r1": {"rx-gro": True}})}, "offloads of snd:snd-r1"),
        ({"after": after(cpu=CpuTimes(2000, 510, 0))}, "CPU short: 1 % idle"),
        ({"after": after(cpu=CpuTimes(2000, 1000, 100))}, "hypervisor took 10 %"),
        ({"capture": {"points": [{"interface": "rcv-r2", "dropped_kernel": 9}]}}, "rcv-r2 dropped 9"),
        ({"transfer": {"receiver": {"elapsed_ns": 100, "cpu_user_ns": 60, "cpu_system_ns": 39}}}, "receiver used 99 %"),
        ({"transfer": {"summary": {"verdict": {"reasons": ["the window grew"]}}}}, "transfer: the window grew"),
        ({"transfer": {"second": {"summary": {"verdict": {"reasons": ["it ended"]}}}}}, "second transfer: it ended"),
        ({"transfer": {"plain": {"summary": {"verdict": {"reasons": ["it ended"]}}}}}, "plain TCP: it ended"),
    ],
)
def test_each_cause_is_named(changes: dict[str, Any], words: str) -> None:
    (found,) = found_in(**changes)
    assert words in found.text
    assert found.kind in KINDS and 0 < len(found.short) < 40


def test_proc_stat_is_read_without_counting_guests_twice() -> None:
    cpu = CpuTimes.parse("cpu  10 20 30 400 50 6 7 8 9 1\ncpu0 1 1\n")
    assert cpu == CpuTimes(total=531, idle=450, steal=8)


LATE_BOX: dict[str, Any] = {
    "lateness_limit_ns": 1_000_000,
    "statistics": {"ab": {"lateness": {"p99_ns": 1_048_575}}, "ba": {"lateness": {"p99_ns": 41_943_039}}},
    "verdict": {
        "valid": False,
        "reasons": ["ab: p99 lateness 1.1 ms (limit 1 ms)", "ba: p99 lateness 42 ms (limit 1 ms)"],
    },
}


def witness(p99_ns: int) -> dict[str, int]:
    return {"period_ns": 4_000_000, "priority": 10, "count": 1000, "p50_ns": 50_000, "p99_ns": p99_ns, "max_ns": p99_ns}


def test_a_late_box_on_a_late_machine_is_the_machines_fault_and_says_what_helps() -> None:
    (found,) = found_in(box=LATE_BOX, witness=witness(38_100_000))
    assert found.text == (
        "delay box: p99 lateness 42 ms (limit 1 ms): this machine's own timers were late by 38 ms (p99); "
        "virtual time does not depend on it: `lfp virtual --build`, then `--time virtual`"
    )
    assert (found.kind, found.short) == ("machine_late", "machine late 38 ms (p99)")


def test_a_late_box_beside_a_witness_on_time_is_the_boxs_fault() -> None:
    (found,) = found_in(box=LATE_BOX, witness=witness(210_000))
    assert (found.kind, found.short) == ("box_late", "box late 42 ms (p99)")
    assert "the box was late, not this machine's timers (210 µs, p99)" in found.text
    assert "--time virtual" not in found.text


def test_a_box_hardly_late_is_the_machines_fault_when_the_witness_was_half_as_late() -> None:
    box = copy.deepcopy(LATE_BOX)
    box["statistics"]["ba"]["lateness"]["p99_ns"] = 1_200_000
    assert found_in(box=box, witness=witness(610_000))[0].kind == "machine_late"
    assert found_in(box=box, witness=witness(590_000))[0].kind == "box_late"


def test_in_virtual_time_nobody_watches_and_the_box_alone_is_named() -> None:
    (found,) = found_in(box=LATE_BOX, witness=None)
    assert (found.kind, found.text) == ("box_late", "delay box: p99 lateness 42 ms (limit 1 ms)")


def test_a_witness_alone_makes_no_trial_invalid() -> None:
    assert judged(witness=witness(38_100_000)) == []


def test_what_the_box_dropped_is_told_beside_its_lateness() -> None:
    box = copy.deepcopy(LATE_BOX)
    box["verdict"]["reasons"].append("ab: 3 packets dropped before the box could read them")
    assert [reason.kind for reason in found_in(box=box, witness=witness(38_100_000))] == ["machine_late", "box"]


@pytest.mark.parametrize(
    ("overrides", "limit_ns"),
    [
        (["path.delay=4.2ms"], 1_000_000),
        (["path.delay=249ms"], 4_980_000),
        (["path.delay=10ms", "path.ba_delay=190ms"], 2_000_000),
        (["path.delay=249ms", "run.lateness=300us"], 300_000),
    ],
)
def test_the_limit_is_1_percent_of_the_rtt_and_1_ms_at_least(overrides: list[str], limit_ns: int) -> None:
    (setting, *_) = (one.setting for one in load_plan("lfp-seqack", overrides=overrides).trials)
    assert lateness.limit_ns(setting) == limit_ns


def test_stolen_time_says_what_helps() -> None:
    (found,) = found_in(after=after(cpu=CpuTimes(2000, 1000, 123)))
    assert found.short == "hypervisor 12 %"
    assert "--time virtual" in found.text


@pytest.mark.parametrize("memory", [TcpMemory(short=True, times=1), TcpMemory(short=False, times=2)])
def test_too_little_tcp_memory_is_told(memory: TcpMemory) -> None:
    (found,) = found_in(after=after(tcp_memory=memory), witness=witness(0))
    assert found.kind == "tcp_memory" and "raise net.ipv4.tcp_mem" in found.text
    (found,) = found_in(after=after(tcp_memory=memory), witness=None)
    assert found.kind == "guest_memory" and "tcp_mem" not in found.text, "nobody can raise it in a guest"
    assert "path.queue" in found.text


@pytest.mark.parametrize(("press", "short"), [("yes", True), ("no", False)])
def test_tcp_memory_is_read_from_the_kernels_tables(tmp_path: Path, press: str, short: bool) -> None:
    (tmp_path / "7" / "net").mkdir(parents=True)
    (tmp_path / "7" / "net" / "netstat").write_text(
        "TcpExt: SyncookiesSent TCPMemoryPressures Other\nTcpExt: 1 23 4\nIpExt: InNoRoutes\nIpExt: 0\n"
    )
    (tmp_path / "7" / "net" / "protocols").write_text(
        f"protocol  size sockets  memory press maxhdr\nUDP 1 0 0 NI 0\nTCP 2304 1 311664 {press} 192\n"
    )
    assert TcpMemory.now([7], proc=tmp_path) == TcpMemory(short=short, times=23)


def test_this_machines_kernel_has_these_tables() -> None:
    assert TcpMemory.now([os.getpid()]).times == TcpMemory.now([os.getpid()] * 2).times / 2


def test_shares_of_the_cpu_are_of_all_processors_time() -> None:
    before, later = CpuTimes(total=1000, idle=500, steal=10), CpuTimes(total=2000, idle=700, steal=60)
    assert before.steal_share(later) == pytest.approx(0.05)
    assert before.busy_share(later) == pytest.approx(0.75)
    assert (before.steal_share(before), before.busy_share(before)) == (0.0, 0.0)
