"""The validity verdict: each cause alone makes a trial invalid, and says so; none leaves it valid."""

from __future__ import annotations

import copy
import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest

from scenarios import manifest
from scenarios.links import Counters
from scenarios.tcp_memory import TcpMemory
from scenarios.validity import CpuTimes, Observation, reasons

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


def judged(**changes: Any) -> list[str]:
    return reasons(**(copy.deepcopy(GOOD) | changes))


def after(**changes: Any) -> Observation:
    found: Observation = GOOD["after"]
    return dataclasses.replace(found, **changes)


def test_nothing_wrong_is_valid() -> None:
    assert judged() == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"box": {"verdict": {"valid": False, "reasons": ["late: p99 2 ms"]}}}, "delay box: late"),
        ({"box": {}}, "no valid verdict"),
        ({"after": after(counters={"snd:snd-r1": Counters(3, 2, 0)})}, "snd:snd-r1: 2 drops"),
        ({"after": after(counters={"r1:r1-wan": Counters(0, 0, 4)})}, "r1:r1-wan: 0 drops, 4 errors"),
        ({"after": after(offloads={"snd:snd-r1": {"rx-gro": True}})}, "offloads of snd:snd-r1"),
        ({"after": after(cpu=CpuTimes(2000, 510, 0))}, "CPU short: 1% idle"),
        ({"after": after(cpu=CpuTimes(2000, 1000, 100))}, "hypervisor took 10%"),
        ({"capture": {"points": [{"interface": "rcv-r2", "dropped_kernel": 9}]}}, "rcv-r2 dropped 9"),
        ({"transfer": {"receiver": {"elapsed_ns": 100, "cpu_user_ns": 60, "cpu_system_ns": 39}}}, "receiver used 99%"),
        ({"transfer": {"summary": {"verdict": {"reasons": ["the window grew"]}}}}, "transfer: the window grew"),
    ],
)
def test_each_cause_is_named(changes: dict[str, Any], words: str) -> None:
    found = judged(**changes)
    assert len(found) == 1
    assert words in found[0]


def test_proc_stat_is_read_without_counting_guests_twice() -> None:
    cpu = CpuTimes.parse("cpu  10 20 30 400 50 6 7 8 9 1\ncpu0 1 1\n")
    assert cpu == CpuTimes(total=531, idle=450, steal=8)


def test_a_run_counts_alike_reasons_and_missing_trials() -> None:
    statuses = [{"verdict": {"valid": False, "reasons": [f"interface r1: {n} drops"]}} for n in (1, 2)] + [
        {"verdict": {"valid": True, "reasons": []}}
    ]
    verdict = manifest.verdict(statuses, 4)
    assert verdict == {
        "valid": False, "reasons": ["interface r1: 1 drops (2 of 4 trials)", "1 of 4 trials not done"]
    }  # fmt: skip
    assert manifest.verdict(statuses[2:], 1)["valid"]


@pytest.mark.parametrize("memory", [TcpMemory(short=True, times=1), TcpMemory(short=False, times=2)])
def test_too_little_tcp_memory_is_told(memory: TcpMemory) -> None:
    assert "net.ipv4.tcp_mem" in "".join(judged(after=after(tcp_memory=memory)))


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
