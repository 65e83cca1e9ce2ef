"""What limited a sender: pktlogger's account of a flow, moment by moment, compared with the account of the sender's
kernel.

The kernel's account is `scenarios.virtual.waits`: what the sender waited for. It is exact, and knows what captures do
not show: whether a writer was blocked, what the congestion window was, when a packet was paced. Where two limits hold
at the same time, either is right:

- The kernel checks pacing, then the congestion window, then the peer's window. Where one of the first two holds the
  sender back and the peer's window has no room for a segment either, both are limits.
- Where all data have been sent and the congestion window is full, the application and the congestion window are both
  limits.
- During a recovery the recovery is the cause, whatever the sender waits for (FORMAT.md section 4), also while the
  sender waits for the time-out or the probe that begins it. A probe is due where nothing has been acknowledged for two
  round trips.
- `path_rate` says that there was a standing queue at the bottleneck. Then this and the window that filled the queue are
  both right.
- Pacing at a rate that the congestion control sets, as BBR does, counts as congestion control. A program that sets a
  rate itself may also keep to it by writing its data at that rate.

pktlogger gives each round one cause. So a moment's cause is compared with the kernel's causes from one round trip
before the moment to one round trip after it. It is accepted if the kernel has it for at least a quarter of that span:
the round that holds the moment is about half of the span, and has the cause for at least half of its own time. A round
lasts until its first octet is acknowledged (FORMAT.md section 4). That duration is the round trip used here, but at
most twice the smoothed RTT, after which a probe is due. The smoothed RTT alone is not enough: when the path becomes
longer, it follows by only an eighth with each acknowledgement (RFC 6298).

pktlogger knows program and kernel only by samples. So if two samples are further apart than a round trip, their
distance counts instead of the round trip. And the kernel's cause at a sample is accepted from the previous sample to
the next one, because each sample stands for the time around it. For example, a program that waits for 4 ms in every 20
ms, sampled every 10 ms, waits in a fifth of the samples. pktlogger judges a silence by itself. So a row of its table
that is shorter than two round trips (or two distances of samples) is also accepted if the kernel agrees for half of it.
The last round, and a round in which a recovery begins, have no end and get the cause of the round before. Such a round
begins when its first octet is sent, and nothing is compared during the round trip after that. In the remaining time
pktlogger may be wrong for one round trip in total (or for the distance of two samples, if that is longer), because a
sample stands for half of this distance before and after it, whatever the program did there. This is the bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntFlag

import numpy as np

from bench.invariants.trials import Array, Columns, Json, Trial
from scenarios.virtual.waits import Flag, Records, State, Why

GRID_NS = 1_000_000


class Group(IntFlag):
    """The limits of a sender that both the kernel and pktlogger know."""

    APPLICATION, SEND_BUFFER, WINDOW, PACING, CONGESTION, RECOVERY = 1, 2, 4, 8, 16, 32


ANY = ~Group(0)
WINDOWS = Group.SEND_BUFFER | Group.WINDOW | Group.CONGESTION
SAID: dict[str, Group] = {
    "application": Group.APPLICATION, "send_buffer": Group.SEND_BUFFER, "receiver_window": Group.WINDOW,
    "zero_window": Group.WINDOW, "pacing": Group.PACING, "slow_start": Group.CONGESTION,
    "congestion_avoidance": Group.CONGESTION, "ecn": Group.CONGESTION, "path_rate": WINDOWS,
    "fast_recovery": Group.RECOVERY, "timeout": Group.RECOVERY, "path_down": ANY, "capture_loss": ANY,
    "emulator_late": ANY,
}  # fmt: skip
_NO_MORE = {Why.EMPTY, Why.NAGLE, Why.DEFER}  # the program has written nothing more that may be sent


@dataclass(frozen=True)
class Account:
    """A flow's limits according to its kernel's records. Each holds from its ``t_ns`` until the next record. ``group``:
    the limit that the kernel names; ``accepted``: all limits that count as right. ``unfinished_ns``: when the rounds
    without an end began."""

    t_ns: Array
    group: Array
    accepted: Array
    rtt_ns: Array
    unfinished_ns: Array


@dataclass(frozen=True)
class Comparison:
    """``kernel_s``, ``said_s``: seconds by the kernel's groups and by pktlogger's causes. ``wrong_s``: seconds in which
    the kernel contradicts pktlogger, by pktlogger's cause and the kernel's group; ``wrong_at_s``: when the first of
    them begin. ``bound_s``: the allowed total of ``wrong_s``."""

    kernel_s: dict[str, float]
    said_s: dict[str, float]
    wrong_s: dict[tuple[str, str], float]
    wrong_at_s: dict[tuple[str, str], float]
    bound_s: float

    def told(self) -> str:
        """What is wrong, in words."""
        pairs = sorted(self.wrong_s.items(), key=lambda one: -one[1])
        said = (
            f"{seconds:.3f} s of {cause!r} where the kernel has {group!r} (from {self.wrong_at_s[cause, group]:.3f} s)"
            for (cause, group), seconds in pairs
        )
        return f"{', '.join(said)}; {self.bound_s:.3f} s may be"


def account(records: Records, end_ns: int) -> Account:
    """A connection's account until ``end_ns``, from its records; the last record holds until then."""
    why, state, flags = _whys(records), records["state"], records["flags"]
    blocked, by_program = flags & Flag.BLOCKED != 0, flags & Flag.BY_PROGRAM != 0
    no_more = np.isin(why, list(_NO_MORE))
    group = np.full(records.size, ANY, np.int64)
    for chosen, value in (
        (no_more & ~blocked, Group.APPLICATION),
        (no_more & blocked, Group.SEND_BUFFER),
        (why == Why.PACING, Group.PACING),
        (why == Why.CWND, Group.CONGESTION),
        (why == Why.WINDOW, Group.WINDOW),
    ):
        group[chosen] = value
    accepted = group.copy()
    accepted[records["flight"] >= records["cwnd"]] |= Group.CONGESTION
    accepted[(why == Why.PACING) & ~by_program] |= Group.CONGESTION
    accepted[no_more & by_program] |= Group.PACING
    accepted[np.isin(why, [Why.CWND, Why.PACING]) & (records["room"] < records["mss"])] |= Group.WINDOW
    accepted[why == Why.DEFER] |= Group.CONGESTION
    repairs = state >= State.RECOVERY
    accepted[repairs | _before_repairs(records)] |= Group.RECOVERY | Group.CONGESTION
    accepted[_overdue(records, end_ns)] |= Group.RECOVERY
    return Account(
        records["t_ns"].astype(np.int64), group, accepted, _round_trips(records, repairs), _unfinished(records, repairs)
    )


def _round_trips(records: Records, repairs: Array) -> Array:
    """The round-trip time at each record. It is the smoothed RTT, or, if that is longer, the time until everything sent
    so far was acknowledged. The latter counts only if no recovery begins meanwhile, and up to twice the smoothed
    RTT."""
    t_ns, smoothed = records["t_ns"].astype(np.int64), records["rtt_us"].astype(np.int64) * 1000
    una, sent = _numbers(records)
    answer = np.searchsorted(una, sent)
    entered = np.cumsum(repairs & ~np.concatenate(([False], repairs[:-1])))
    known = (answer < t_ns.size) & (entered[np.minimum(answer, t_ns.size - 1)] == entered)
    took = np.where(known, t_ns[np.minimum(answer, t_ns.size - 1)] - t_ns, 0)
    found: Array = np.maximum(smoothed, np.minimum(took, 2 * smoothed))
    return found


def _numbers(records: Records) -> tuple[Array, Array]:
    """The first octet outstanding and the next one to send, at each record, without wrapping."""
    una, sent = (np.maximum.accumulate((records[name] - records["una"][0]).view(np.int32)) for name in ("una", "next"))
    return una, sent


def _whys(records: Records) -> Array:
    """Each record's reason, with SAME replaced by the previous record's. If the previous reason is that all data were
    sent, and there are unsent data now, the kernel has not tried to send them yet. They wait for the host."""
    told = records["why"] != Why.SAME
    last = np.maximum.accumulate(np.where(told, np.arange(records.size), 0))
    why: Array = records["why"][last].astype(np.int64)
    why[~told & (why == Why.EMPTY) & (records["unsent"] > 0)] = Why.HOST
    return why


def _unfinished(records: Records, repairs: Array) -> Array:
    """When the rounds without an end began, at the earliest: the last round, and each round in which a recovery began.
    That is when the octet was sent that was the first one outstanding at the last record, or when the recovery
    began."""
    entered = np.flatnonzero(repairs & ~np.concatenate(([False], repairs[:-1])))
    una, sent = _numbers(records)
    first = np.searchsorted(sent, np.minimum(una[np.append(entered, -1)], sent[-1] - 1), "right")
    began_ns: Array = records["t_ns"].astype(np.int64)[first]
    return began_ns


def _before_repairs(records: Records) -> Array:
    """For each record, whether a recovery begins before anything new is sent or acknowledged."""
    state, before = records["state"], np.zeros(records.size, bool)
    moved = (np.diff(records["una"], prepend=records["una"][:1]) != 0) | (
        np.diff(records["next"], prepend=records["next"][:1]) != 0
    )
    last = np.maximum.accumulate(np.where(moved, np.arange(records.size), 0))
    begins = np.flatnonzero((state[1:] > state[:-1]) & (state[1:] >= State.CWR)) + 1
    for one in begins:
        before[last[one - 1] : one] = True
    return before


def _overdue(records: Records, end_ns: int) -> Array:
    """For each record, whether data are outstanding and none of them is acknowledged for two round trips, so that a
    probe is due. The kernel writes no record of the probe itself, nor of an acknowledgement of the last octet."""
    advanced = np.concatenate(([True], np.diff(records["una"]) != 0))
    waits_for = advanced | np.concatenate(([True], (records["una"] == records["next"])[:-1]))
    since = np.maximum.accumulate(np.where(waits_for, np.arange(records.size), 0))
    t_ns, rtt_ns = records["t_ns"].astype(np.int64), records["rtt_us"].astype(np.int64) * 1000
    ended = np.flatnonzero(waits_for)
    until_ns = np.append(t_ns[ended], max(end_ns, int(t_ns[-1])))[np.searchsorted(ended, np.arange(t_ns.size), "right")]
    found: Array = (records["una"] != records["next"]) & (until_ns - t_ns[since] > 2 * rtt_ns[since])
    return found


def compare(
    account: Account, limits: Columns, names: Array, apart_ns: float = 0, sampled_ns: Array | None = None
) -> Comparison:
    """Compares a flow's account with its rows of pktlogger's table. ``names``: names of the causes. ``apart_ns``: time
    between two samples of its sender; 0: no samples. ``sampled_ns``: times of the samples, where they are known."""
    begin, end = int(limits["t0_ns"][0]), int(limits["t1_ns"][-1])
    edges = np.concatenate((account.t_ns, limits["t0_ns"], limits["t1_ns"], np.arange(begin, end, GRID_NS)))
    edges = np.unique(np.clip(edges, begin, end))
    middle, lasted = (edges[:-1] + edges[1:]) / 2, np.diff(edges)
    place = np.maximum(np.searchsorted(account.t_ns, middle, "right") - 1, 0)
    row = np.searchsorted(limits["t0_ns"], middle, "right") - 1
    said = np.array([SAID[name] for name in names], np.int64)[limits["cause"][row]]
    agrees = (said & account.accepted[place] != 0) | (said & _sampled(account, sampled_ns, middle) != 0)
    rtt_ns = _rtt(account, middle)
    reach_ns = np.maximum(rtt_ns, apart_ns)
    near = np.zeros(middle.size)
    for value in np.unique(said):
        chosen = said == value
        sums = np.concatenate(([0], np.cumsum(lasted * (account.accepted[place] & value != 0))))
        low, high = middle[chosen] - reach_ns[chosen], middle[chosen] + reach_ns[chosen]
        whole = (np.minimum(high, end) - np.maximum(low, begin)).clip(1)  # no round trip is known yet: no tolerance
        near[chosen] = (np.interp(high, edges, sums) - np.interp(low, edges, sums)) / whole
    of_row = np.bincount(row, lasted * agrees, limits["t0_ns"].size) / (limits["t1_ns"] - limits["t0_ns"]).clip(1)
    short = (limits["t1_ns"] - limits["t0_ns"])[row] < 2 * reach_ns
    wrong = ~agrees & (near < 1 / 4) & ~(short & (of_row[row] >= 1 / 2))
    for began_ns, lasted_ns in zip(account.unfinished_ns, _rtt(account, account.unfinished_ns), strict=True):
        wrong &= (middle < began_ns) | (middle > began_ns + lasted_ns)
    causes = names[limits["cause"][row]]
    groups = np.array([_name(int(value)) for value in account.group[place]])
    return Comparison(
        _sums(groups, lasted),
        _sums(causes, lasted),
        *_pairs(causes, groups, lasted, middle - begin, wrong),
        float(reach_ns.max()) / 1e9,
    )


def _sampled(account: Account, sampled_ns: Array | None, at_ns: Array) -> Array:
    """The accepted limits at the samples before and after each time."""
    if sampled_ns is None or not sampled_ns.size:
        return np.zeros(at_ns.size, np.int64)
    seen = account.accepted[np.maximum(np.searchsorted(account.t_ns, sampled_ns, "right") - 1, 0)]
    seen[sampled_ns < account.t_ns[0]] = 0
    behind = np.searchsorted(sampled_ns, at_ns, "right")
    found: Array = np.append(0, seen)[behind] | np.append(seen, 0)[behind]
    return found


def _rtt(own: Account, at_ns: Array) -> Array:
    """The round-trip time at each time. Smoothed values lag, so the value a round trip later counts if it is larger."""
    now = own.rtt_ns[np.maximum(np.searchsorted(own.t_ns, at_ns, "right") - 1, 0)]
    later = own.rtt_ns[np.maximum(np.searchsorted(own.t_ns, at_ns + now, "right") - 1, 0)]
    return np.maximum(np.maximum(now, later), 1)


def _name(value: int) -> str:
    return str(Group(value).name).lower() if value != int(ANY) else "host"


def _sums(names: Array, lasted: Array) -> dict[str, float]:
    return {str(name): float(lasted[names == name].sum()) / 1e9 for name in np.unique(names)}


def _pairs(
    causes: Array, groups: Array, lasted: Array, at_ns: Array, wrong: Array
) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], float]]:
    seconds, first = dict[tuple[str, str], float](), dict[tuple[str, str], float]()
    for one in np.flatnonzero(wrong):
        pair = str(causes[one]), str(groups[one])
        seconds[pair] = seconds.get(pair, 0.0) + float(lasted[one]) / 1e9
        first.setdefault(pair, float(at_ns[one]) / 1e9)
    return seconds, first


def flows(trial: Trial) -> Iterator[tuple[Json, Comparison]]:
    """Each captured flow of a trial for which the kernels have records, with its comparison."""
    if trial.records is None or trial.gateway != "none":
        return
    names = np.asarray(trial.summary["limit_causes"])
    for flow in trial.summary.get("flows") or ():
        own = trial.records_of(flow)
        limits = {name: column[trial.limits["flow"] == flow["flow"]] for name, column in trial.limits.items()}
        if own.size and limits["t0_ns"].size and limits["t1_ns"][-1] > limits["t0_ns"][0]:
            apart_ns = flow["elapsed_ns"] / flow["samples"] if flow["samples"] else 0
            sampled_ns = trial.sampled_ns(flow)
            yield flow, compare(account(own, int(limits["t1_ns"][-1])), limits, names, apart_ns, sampled_ns)
