"""How late the delay box may be. The limit follows from what lateness can disturb: the path's round-trip time.

Trials are judged by this limit. By the same limit 'lfp doctor' says what a machine is good for, and ``--time auto``
chooses.
"""

from __future__ import annotations

from scenarios.plan.model import Scenario

LEAST_NS = 1_000_000  # smaller lateness disturbs nothing that TCP's timers notice
SHARE_OF_RTT = 100  # the limit is one hundredth of the RTT


def limit_of_rtt_ns(rtt_ns: int) -> int:
    """Limit on p99 lateness over a path with this RTT, ns: 1 ms or 1 % of the RTT, whichever is greater."""
    return max(LEAST_NS, rtt_ns // SHARE_OF_RTT)


def limit_ns(setting: Scenario) -> int:
    """The trial's limit on p99 lateness, ns: run.lateness, or the limit of the path's RTT."""
    return limit_of_rtt_ns(setting.path.rtt_ns()) if setting.run.lateness is None else setting.run.lateness


def least_rtt_ns(p99_ns: int) -> int:
    """The least RTT whose limit allows this lateness, ns; 0: any RTT."""
    return 0 if p99_ns <= LEAST_NS else p99_ns * SHARE_OF_RTT
