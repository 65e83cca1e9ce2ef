"""The validity verdict of a trial: was anything but the model at work? Empty reasons mean valid.

Reads only what was observed before and after, so every rule can be tested without a network.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scenarios.links import Counters
from scenarios.tcp_memory import TcpMemory

STEAL_LIMIT = 0.05  # share of machine time taken by the hypervisor
IDLE_LIMIT = 0.03  # less idle time than this: the CPU was the bottleneck
BUSY_LIMIT = 0.95  # of one core, by one end's process


@dataclass(frozen=True)
class CpuTimes:
    """Machine-wide clock ticks from /proc/stat."""

    total: int
    idle: int
    steal: int

    @classmethod
    def now(cls) -> CpuTimes:
        """The counters at this moment."""
        return cls.parse(Path("/proc/stat").read_text(encoding="ascii"))

    @classmethod
    def parse(cls, text: str) -> CpuTimes:
        """From the first line of /proc/stat; guest time is part of user time there."""
        ticks = [int(field) for field in text.splitlines()[0].split()[1:9]]
        return cls(sum(ticks), ticks[3] + ticks[4], ticks[7])


@dataclass(frozen=True)
class Observation:
    """The state of the surroundings at one moment."""

    counters: dict[str, Counters]
    offloads: dict[str, dict[str, bool]]
    cpu: CpuTimes
    tcp_memory: TcpMemory


def reasons(
    before: Observation, after: Observation, box: dict[str, Any], capture: dict[str, Any], transfer: dict[str, Any],
    gateways: dict[str, Any] | None = None,
) -> list[str]:  # fmt: skip
    """Why the trial does not count, a short text each. ``box``, ``capture``, ``transfer``: the tools' ``end`` lines;
    ``gateways``: gateway.json."""
    verdict = box.get("verdict", {})
    found = [f"delay box: {reason}" for reason in verdict.get("reasons", [])]
    if not found and not verdict.get("valid", False):
        found.append("delay box: gave no valid verdict")
    transfer_verdict = transfer.get("summary", {}).get("verdict", {})
    found += [f"transfer: {reason}" for reason in transfer_verdict.get("reasons", [])]
    found += _interface_drops(before.counters, after.counters)
    found += [
        f"offloads of {name} changed" for name in before.offloads if after.offloads.get(name) != before.offloads[name]
    ]
    for point in capture.get("points", []):
        dropped = point.get("dropped_kernel", 0) + point.get("dropped_interface", 0)
        if dropped:
            found.append(f"capture of {point.get('interface', '?')} dropped {dropped} packets")
    found += _tcp_memory(before.tcp_memory, after.tcp_memory)
    return found + _gateways(gateways or {}) + _cpu(before.cpu, after.cpu) + _busy_ends(transfer)


# What an end of lft-gateway must not have counted: section, key, words.
_GATEWAY_ERRORS = (
    ("tunnel", "outages", "outages of the tunnel"),
    ("tunnel", "rx_truncated", "truncated datagrams"),
    ("io", "rx_overflows", "datagrams dropped for want of socket buffer"),
    ("io", "tx_failed", "datagrams that could not be sent"),
    ("engine", "rx_no_memory", "frames dropped for want of memory"),
    ("relay", "half_open_expired", "connects that took too long"),
)


def _gateways(gateways: dict[str, Any]) -> list[str]:
    found = []
    for which in ("near", "far"):
        end = gateways.get(which) or {}
        for section, key, words in _GATEWAY_ERRORS:
            if count := (end.get(section) or {}).get(key, 0):
                found.append(f"{which} gateway: {count} {words}")
        share = end.get("cpu_ns", 0) / end["uptime_ns"] if end.get("uptime_ns") else 0.0
        if share > BUSY_LIMIT:
            found.append(f"CPU short: the {which} gateway used {share:.0%} of a core")
    near = gateways.get("near") or {}
    if gateways.get("kind") == "lft" and not (near.get("relay") or {}).get("near_accepted", 0):
        found.append("near gateway: took no connection over")
    return found


def _interface_drops(before: dict[str, Counters], after: dict[str, Counters]) -> list[str]:
    found = []
    for name, now in after.items():
        then = before.get(name, Counters(0, 0, 0))
        dropped = now.rx_dropped + now.tx_dropped - then.rx_dropped - then.tx_dropped
        errors = now.errors - then.errors
        if dropped or errors:
            found.append(f"interface {name}: {dropped} drops, {errors} errors outside the model")
    return found


def _tcp_memory(before: TcpMemory, after: TcpMemory) -> list[str]:
    if before.short or after.short or after.times > before.times:
        return ["TCP memory ran short, so windows did not grow: raise net.ipv4.tcp_mem ('lfp doctor' says how far)"]
    return []


def _cpu(before: CpuTimes, after: CpuTimes) -> list[str]:
    total = after.total - before.total
    if total <= 0:
        return []
    steal, idle = (after.steal - before.steal) / total, (after.idle - before.idle) / total
    found = [f"hypervisor took {steal:.0%} of the CPU"] if steal > STEAL_LIMIT else []
    return found + ([f"CPU short: {idle:.0%} idle"] if idle < IDLE_LIMIT else [])


def _busy_ends(transfer: dict[str, Any]) -> list[str]:
    found = []
    for end in ("sender", "receiver"):
        side = transfer.get(end, {})
        elapsed = side.get("elapsed_ns", 0)
        share = (side.get("cpu_user_ns", 0) + side.get("cpu_system_ns", 0)) / elapsed if elapsed else 0.0
        if share > BUSY_LIMIT:
            found.append(f"CPU short: the {end} used {share:.0%} of a core")
    return found
