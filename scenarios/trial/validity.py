"""The validity verdict of a trial: whether anything but the model was at work. A trial without reasons is valid.

This module reads only what was observed before and after the transfer, so every rule can be tested without a network.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netcommon import readable
from scenarios.network.links import Counters
from scenarios.network.tcp_memory import TcpMemory
from scenarios.trial.verdicts import VIRTUAL, Reason

STEAL_LIMIT = 0.05  # greatest share of the machine's time that the hypervisor may take
IDLE_LIMIT = 0.03  # with a smaller share of idle time the CPU was the bottleneck
BUSY_LIMIT = 0.95  # greatest share of one core that one end's process may use


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
        """Reads the first line of /proc/stat, where guest time is part of user time."""
        ticks = [int(field) for field in text.splitlines()[0].split()[1:9]]
        return cls(sum(ticks), ticks[3] + ticks[4], ticks[7])

    def steal_share(self, after: CpuTimes) -> float:
        """The share of the machine's time that the hypervisor took until ``after``, 0 … 1."""
        total = after.total - self.total
        return (after.steal - self.steal) / total if total > 0 else 0.0

    def busy_share(self, after: CpuTimes) -> float:
        """The share of the machine's time that its programs used until ``after``, 0 … 1."""
        total = after.total - self.total
        idle = (after.idle - self.idle) / total if total > 0 else 1.0
        return 1.0 - idle - self.steal_share(after)


@dataclass(frozen=True)
class Observation:
    """Counters and settings around the transfer at one moment."""

    counters: dict[str, Counters]
    offloads: dict[str, dict[str, bool]]
    cpu: CpuTimes
    tcp_memory: TcpMemory


def reasons(
    before: Observation,
    after: Observation,
    box: dict[str, Any],
    capture: dict[str, Any],
    transfer: dict[str, Any],
    gateways: dict[str, Any] | None = None,
    witness: Mapping[str, Any] | None = None,
    priced: bool = False,
    shaken: bool = False,
    down: Collection[int] = (),
) -> list[Reason]:
    """The reasons why the trial does not count. ``box``, ``capture``, ``transfer``: the tools' ``end`` lines;
    ``gateways``: the content of gateway.json; ``witness``: the witness's figures, None in virtual time. ``priced``: the
    scenario says what system calls cost ([cpu]), so a busy program is as intended. ``shaken``: [[event]] has disturbed
    gateways, as intended. ``down``: the pairs whose path has outages, as intended."""
    causes = of_path(before.counters, after.counters, box, witness)
    causes += [reason for name, end in ways(transfer).items() for reason in _transfer(end, name)]
    causes += [
        Reason("offloads", f"offloads of {name} changed", f"offloads of {name}")
        for name in before.offloads
        if after.offloads.get(name) != before.offloads[name]
    ]
    causes += _capture(capture)
    causes += _tcp_memory(before.tcp_memory, after.tcp_memory, virtual=witness is None)
    sites = [gateways or {}, *((gateways or {}).get("others") or {}).values()]
    for site, pairs in zip(sites, _behind(gateways or {}), strict=True):
        causes += _gateways(site, not pairs.isdisjoint(down), shaken)
    causes += _cpu(before.cpu, after.cpu)
    if priced:
        return causes
    ends = [transfer, *(transfer.get("flows") or {}).values()]
    causes += [reason for site in sites for reason in _busy_gateways(site)]
    return causes + [reason for end in ends for reason in _busy_ends(end)]


def of_path(
    before: dict[str, Counters],
    after: dict[str, Counters],
    box: dict[str, Any],
    witness: Mapping[str, Any] | None = None,
) -> list[Reason]:
    """The reasons why the path was not the model's alone: box and interfaces."""
    found = [reason for one in (box, *box.get("hops", ())) for reason in _box(one, witness)]
    return found + _interface_drops(before, after)


def ways(transfer: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The ``end`` objects in a transfer.json, by the names that messages use: each flow, the first one's additional
    flows, and the reverse direction of each."""
    ends = {"transfer": dict(transfer)} | {f"flow {name}": end for name, end in (transfer.get("flows") or {}).items()}
    beside = {"second transfer": transfer.get("second"), "plain TCP": transfer.get("plain")}
    ends |= {name: end for name, end in beside.items() if end}
    back = {f"{name}, reverse direction": end["reverse"] for name, end in ends.items() if end.get("reverse")}
    return ends | back


def _transfer(way: dict[str, Any], name: str) -> list[Reason]:
    """The reasons that the transfer tool itself gives against one direction."""
    verdict = way.get("summary", {}).get("verdict", {})
    return [Reason("transfer", f"{name}: {why}", why) for why in verdict.get("reasons", [])]


_LATE = ": p99 lateness "  # the box's words for lateness, after the direction's name


def _box(box: dict[str, Any], witness: Mapping[str, Any] | None) -> list[Reason]:
    verdict = box.get("verdict", {})
    late = [text for text in verdict.get("reasons", []) if _LATE in text]
    other = [text for text in verdict.get("reasons", []) if _LATE not in text]
    reasons = [_late(box, late, witness)] if late else []
    reasons += [Reason("box", f"delay box: {text}", f"box {text}") for text in other]
    if not reasons and not verdict.get("valid", False):
        reasons.append(Reason("box", "delay box: gave no valid verdict", "no verdict of the box"))
    return reasons


def _late(box: dict[str, Any], late: list[str], witness: Mapping[str, Any] | None) -> Reason:
    """Whether the box or the machine was late. The machine's timers alone explain the lateness when the witness was
    beyond the limit too, or at least half as late as the box."""
    ways = box.get("statistics", {})

    def p99_ns(text: str) -> int:
        return int(ways.get(text.partition(":")[0], {}).get("lateness", {}).get("p99_ns", 0))

    worst = max(late, key=p99_ns)
    said, box_ns = f"delay box: {worst.partition(': ')[2]}", p99_ns(worst)
    if witness is None:
        return Reason("box_late", said, f"box late {readable.duration(box_ns, 2)} (p99)")
    own_ns = witness["p99_ns"]
    lateness = readable.duration(own_ns, 2)
    if own_ns > box.get("lateness_limit_ns", 0) or 2 * own_ns >= box_ns:
        text = f"{said}: this machine's own timers were late by {lateness} (p99); {VIRTUAL}"
        return Reason("machine_late", text, f"machine late {lateness} (p99)")
    text = f"{said}: the box was late, not this machine's timers ({lateness}, p99): it had more to do than it could"
    return Reason("box_late", text, f"box late {readable.duration(box_ns, 2)} (p99)")


def _capture(capture: dict[str, Any]) -> list[Reason]:
    reasons = []
    for point in capture.get("points", []):
        dropped = point.get("dropped_kernel", 0) + point.get("dropped_interface", 0)
        if dropped:
            name = point.get("interface", "?")
            short = f"capture {name} lost {readable.count(dropped)}"
            reasons.append(Reason("capture", f"capture of {name} dropped {dropped} packets", short))
    return reasons


# Counters of lft-gateway that must be 0 in a valid trial: section, key, words.
_GATEWAY_ERRORS = (
    ("tunnel", "outages", "outages of the tunnel"),
    ("tunnel", "rx_truncated", "truncated datagrams"),
    ("io", "rx_overflows", "datagrams dropped for want of socket buffer"),
    ("io", "tx_failed", "datagrams that could not be sent"),
    ("engine", "rx_no_memory", "frames dropped for want of memory"),
    ("relay", "half_open_expired", "connects that took too long"),
)


def _behind(gateways: dict[str, Any]) -> list[set[int]]:
    """The pairs behind the first pair's gateways of gateway.json, and behind each of the ``others``."""
    behind: dict[str, int] = gateways.get("behind") or {"1": 1}
    firsts = [int(gateways.get("pair") or 1), *map(int, gateways.get("others") or {})]
    return [{int(pair) for pair, leads in behind.items() if leads == first} for first in firsts]


_OF_EVENTS = ("outages", "tx_failed", "half_open_expired")  # unavoidable while a peer is away


def _gateways(gateways: dict[str, Any], has_outages: bool, shaken: bool) -> list[Reason]:
    allowed = {*(["outages"] if has_outages else []), *(_OF_EVENTS if shaken else [])}
    reasons = []
    for which in ("near", "far"):
        end = gateways.get(which) or {}
        for section, key, words in _GATEWAY_ERRORS:
            count = (end.get(section) or {}).get(key, 0)
            if count and key not in allowed:
                reasons.append(Reason("gateway", f"{which} gateway: {count} {words}", f"{which} gateway {key} {count}"))
    near = gateways.get("near") or {}
    if gateways.get("kind") == "lft" and not shaken and not (near.get("relay") or {}).get("near_accepted", 0):
        reasons.append(Reason("gateway", "near gateway: took no connection over", "near gateway unused"))
    return reasons


def _short_of_cpu(text: str, who: str) -> Reason:
    return Reason("cpu", f"CPU short: {text}", f"CPU short ({who})")


def _interface_drops(before: dict[str, Counters], after: dict[str, Counters]) -> list[Reason]:
    reasons = []
    for name, now in after.items():
        then = before.get(name, Counters(0, 0, 0))
        dropped = now.rx_dropped + now.tx_dropped - then.rx_dropped - then.tx_dropped
        errors = now.errors - then.errors
        if dropped or errors:
            text = f"interface {name}: {dropped} drops, {errors} errors outside the model"
            reasons.append(Reason("interface", text, f"{name} lost {readable.count(dropped + errors)}"))
    return reasons


def _tcp_memory(before: TcpMemory, after: TcpMemory, *, virtual: bool) -> list[Reason]:
    if not (before.short or after.short or after.times > before.times):
        return []
    short = "TCP memory ran short, so windows did not grow"
    if virtual:
        text = f"{short}: the guest has what path, windows and buffers need; bound path.queue, or lower the buffers"
        return [Reason("guest_memory", text, "TCP memory short (guest)")]
    text = f"{short}: raise net.ipv4.tcp_mem ('lfp doctor' says how far)"
    return [Reason("tcp_memory", text, "TCP memory short")]


def _cpu(before: CpuTimes, after: CpuTimes) -> list[Reason]:
    total = after.total - before.total
    if total <= 0:
        return []
    steal, idle = before.steal_share(after), (after.idle - before.idle) / total
    reasons = []
    if steal > STEAL_LIMIT:
        text = f"hypervisor took {readable.share(steal, 2)} of the CPU (limit {readable.share(STEAL_LIMIT)}); {VIRTUAL}"
        reasons.append(Reason("hypervisor", text, f"hypervisor {readable.share(steal, 2)}"))
    return reasons + ([_short_of_cpu(f"{readable.share(idle, 2)} idle", "machine")] if idle < IDLE_LIMIT else [])


def _busy_gateways(gateways: dict[str, Any]) -> list[Reason]:
    reasons = []
    for which in ("near", "far"):
        end = gateways.get(which) or {}
        share = end.get("cpu_ns", 0) / end["uptime_ns"] if end.get("uptime_ns") else 0.0
        if share > BUSY_LIMIT:
            name = f"{which} gateway"
            reasons.append(_short_of_cpu(f"the {name} used {readable.share(share, 2)} of a core", name))
    return reasons


def _busy_ends(transfer: dict[str, Any]) -> list[Reason]:
    reasons = []
    for end in ("sender", "receiver"):
        side = transfer.get(end, {})
        elapsed = side.get("elapsed_ns", 0)
        share = (side.get("cpu_user_ns", 0) + side.get("cpu_system_ns", 0)) / elapsed if elapsed else 0.0
        if share > BUSY_LIMIT:
            reasons.append(_short_of_cpu(f"the {end} used {readable.share(share, 2)} of a core", end))
    return reasons
