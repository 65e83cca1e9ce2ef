"""What limited a sender: pktlogger's account of a flow, moment by moment, against that of the sender's kernel.

The kernel's account is `scenarios.virtual.waits`: what the sender waited for. It is exact, and knows what captures do
not show: whether a writer was blocked, what the congestion window was, when a packet was paced. Where two things hold a
sender at a time, either is right:

- The kernel looks at pacing, then the congestion window, then the peer's. Where one of the first two holds and the
  peer's window leaves no room for a segment either, both limit.
- Where all has been sent, and as much as the congestion window allows is in flight, both limit.
- In a recovery that is the cause, whatever the sender waits for (FORMAT.md section 4), and so it is while it waits for
  the time-out or the probe that begins one. Where nothing has been acknowledged for two round trips a probe is due.
- `path_rate` says that the queue at the bottleneck stood. Whatever window let it stand then has a rival.
- A rate that congestion control sets, as BBR does, is congestion control. A program that sets one itself may also keep
  to it by giving its data at that rate.

pktlogger gives a round one cause, so at a moment it is right where the kernel has that cause for a quarter of the time
from a round trip before to a round trip behind: a round that holds the moment lies within this time, is half of it, and
has the cause for half of its own time at least. A round lasts until its first octet is acknowledged (FORMAT.md section
4), and that is the round trip which counts here, up to two smoothed ones, after which a probe is due: where the path
has become longer, the smoothed one follows by an eighth with each acknowledgement only (RFC 6298).

Of program and kernel pktlogger has samples alone, so where they are further apart than a round trip, their distance
counts in its place. And what the kernel has at a sample is right until the next one and from the one before on: a
program that writes every 20 ms and waits for 4 of them, sampled every 10 ms, waits in a fifth of the samples, and each
stands for the time around it. A silence is judged by itself, so a span that is shorter than that is right, too, where
the kernel agrees for half of it. The last round, and one in which a recovery begins, have no end and the cause of the
round before. So nothing is compared for a round trip from when the first octet left that is outstanding then. Of all
the rest a round trip may be wrong, or the distance of two samples, where that is longer: a sample stands for half of it
before and behind, whatever the program did there. That is the bound.
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
    """What may limit a sender, as kernel and pktlogger both know it."""

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
    """A flow's limits by its kernel: from ``t_ns`` of each record on, ``group`` alone, and any of ``accepted``.
    ``unfinished_ns``: when the rounds began that have no end."""

    t_ns: Array
    group: Array
    accepted: Array
    rtt_ns: Array
    unfinished_ns: Array


@dataclass(frozen=True)
class Comparison:
    """``kernel_s``, ``said_s``: seconds by the kernel's groups and by pktlogger's causes. ``wrong_s``: seconds of a
    cause that the kernel contradicts, with what the kernel says, and ``wrong_at_s`` when the first of them begins.
    ``bound_s``: how long all of them may be."""

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
    """The smoothed round-trip time at each record, or, where that is longer and no recovery begins meanwhile, the time
    until what had been sent by then was acknowledged: up to twice the smoothed one."""
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
    """Each record's reason, with SAME replaced by the previous record's. Data that the kernel has not yet tried to send
    since everything was sent wait for the host."""
    told = records["why"] != Why.SAME
    last = np.maximum.accumulate(np.where(told, np.arange(records.size), 0))
    why: Array = records["why"][last].astype(np.int64)
    why[~told & (why == Why.EMPTY) & (records["unsent"] > 0)] = Why.HOST
    return why


def _unfinished(records: Records, repairs: Array) -> Array:
    """When the last round of all began, and the longest one in which each recovery did: when the first octet was sent
    that was outstanding at its end."""
    entered = np.flatnonzero(repairs & ~np.concatenate(([False], repairs[:-1])))
    una, sent = _numbers(records)
    first = np.searchsorted(sent, np.minimum(una[np.append(entered, -1)], sent[-1] - 1), "right")
    began_ns: Array = records["t_ns"].astype(np.int64)[first]
    return began_ns


def _before_repairs(records: Records) -> Array:
    """Whether a recovery begins before anything new is sent or acknowledged."""
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
    """Whether data are outstanding of which none is acknowledged for two round trips: a probe is due then. Of the probe
    itself, and of an acknowledgement of the last octet, the kernel writes nothing."""
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
    """The account's values at the samples before and after each time."""
    if sampled_ns is None or not sampled_ns.size:
        return np.zeros(at_ns.size, np.int64)
    seen = account.accepted[np.maximum(np.searchsorted(account.t_ns, sampled_ns, "right") - 1, 0)]
    seen[sampled_ns < account.t_ns[0]] = 0
    behind = np.searchsorted(sampled_ns, at_ns, "right")
    found: Array = np.append(0, seen)[behind] | np.append(seen, 0)[behind]
    return found


def _rtt(own: Account, at_ns: Array) -> Array:
    """The round-trip time at each time, the longer one of before and of a round trip later: it is smoothed."""
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
    """Each captured flow of a trial that its senders' kernels tell of, with its comparison."""
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
