"""What a machine is good for in real time, by its timers, its hypervisor and the speed of a veth pair.

This module is pure; `fitness_measure` measures. The limits on lateness and on CPU taken away are those that trials are
judged by. So the trials of a scenario that fits the machine will mostly be valid.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from netcommon import readable
from scenarios.plan import lateness
from scenarios.plan.model import Scenario
from scenarios.trial.validity import STEAL_LIMIT

# The delay box's rate as a share of a bare veth pair's. docs/reference/performance.md has 0.56 to 0.92.
BOX_SHARE = 0.5
OTHERS_LIMIT = 0.9  # greatest share of the CPU for other programs; with more a trial could not be idle for 3 %


@dataclass(frozen=True)
class Fitness:
    """Figures of this machine, measured for ``seconds``. ``p50_ns``, ``p99_ns``, ``max_ns``: lateness of timers.
    ``steal_share``: share of the CPU that the hypervisor took, 0 … 1. ``others_share``: share that other programs used
    before our own load began. ``veth_bps``: rate of one TCP stream over a veth pair; None when it was not measured, and
    ``veth_why`` says why."""

    seconds: float
    p50_ns: int
    p99_ns: int
    max_ns: int
    steal_share: float
    veth_bps: float | None = None
    veth_why: str = ""
    others_share: float = 0.0

    @property
    def carries_bps(self) -> float | None:
        """The approximate rate of one stream through the delay box, bit/s."""
        return None if self.veth_bps is None else self.veth_bps * BOX_SHARE

    def as_json(self) -> dict[str, Any]:
        """The fields and the figures that follow from them, by name."""
        return asdict(self) | {"carries_bps": self.carries_bps, "least_rtt_ns": lateness.least_rtt_ns(self.p99_ns)}


def figures(fitness: Fitness) -> list[tuple[str, str]]:
    """What was measured: a name and a phrase for each figure."""
    late = (fitness.p50_ns, fitness.p99_ns, fitness.max_ns)
    p50, p99, most = (readable.duration(value, 2) for value in late)
    taken, limit = readable.share(fitness.steal_share, 2), readable.share(STEAL_LIMIT)
    measured = f"{readable.rate(fitness.veth_bps, 2)} (one TCP stream)"
    return [
        ("timer lateness", f"{p50} median, {p99} p99, {most} at most"),
        ("hypervisor", f"took {taken} of the CPU (limit {limit})"),
        ("other programs", f"used {readable.share(fitness.others_share, 2)} of the CPU"),
        ("veth pair", f"not measured: {fitness.veth_why}" if fitness.veth_bps is None else measured),
    ]


def good_for(fitness: Fitness) -> str:
    """``real time from RTT 380 ms up and to about 4 Gbit/s; below that use virtual time (--time virtual)``."""
    if taken := _taken(fitness):
        return f"virtual time (--time virtual): {'; '.join(taken)}"
    rate = "" if fitness.carries_bps is None else f"to about {readable.rate(fitness.carries_bps, 1)}"
    least_ns = lateness.least_rtt_ns(fitness.p99_ns)
    if least_ns:
        bounds = " and ".join(filter(None, [f"from RTT {readable.duration(least_ns, 2)} up", rate]))
        return f"real time {bounds}; below that use virtual time (--time virtual)"
    one_percent = readable.duration(fitness.p99_ns * lateness.SHARE_OF_RTT, 2)
    return f"real time {rate or 'at any RTT'}; timers are late by less than 1 % of the RTT from RTT {one_percent} up"


def objections(fitness: Fitness, settings: list[Scenario]) -> list[str]:
    """Why trials of these settings would not be valid in real time on this machine; empty if they would."""
    tightest = min(settings, key=lateness.limit_ns)
    reasons = []
    if fitness.p99_ns > lateness.limit_ns(tightest):
        reasons.append(timers(fitness, tightest))
    reasons += _taken(fitness)
    carries, wanted = fitness.carries_bps, max(offered_bps(setting) for setting in settings)
    if carries is not None and wanted > carries:
        about = readable.rate(carries, 1)
        reasons.append(f"{readable.rate(wanted, 3)} is more than this machine carries (about {about})")
    return reasons


def timers(fitness: Fitness, tightest: Scenario) -> str:
    """The lateness of timers, compared with the strictest limit of all settings."""
    limit, rtt = (readable.duration(ns, 3) for ns in (lateness.limit_ns(tightest), tightest.path.rtt_ns()))
    return f"this machine's timers are late by {readable.duration(fitness.p99_ns, 2)} (p99; limit {limit} at RTT {rtt})"


def _taken(fitness: Fitness) -> list[str]:
    """Objections to other users of the CPU that would make trials invalid."""
    users = []
    for who, share, limit in (
        ("the hypervisor takes", fitness.steal_share, STEAL_LIMIT),
        ("other programs use", fitness.others_share, OTHERS_LIMIT),
    ):
        if share > limit:
            users.append(f"{who} {readable.share(share, 2)} of the CPU (limit {readable.share(limit)})")
    return users


def offered_bps(setting: Scenario) -> float:
    """The largest rate that path and window allow, bit/s. 0: only the machine bounds the rate, which is acceptable."""
    ab, transfer, rtt_ns = setting.path.direction("ab"), setting.transfer, setting.path.rtt_ns()
    bounds = [float(rate) for rate in (ab.all_channels_bps, ab.access_rate_bps, setting.gateway.rate) if rate]
    if transfer.window and rtt_ns:
        bounds.append(transfer.window * 8e9 / rtt_ns)
    return min(bounds, default=0.0)
