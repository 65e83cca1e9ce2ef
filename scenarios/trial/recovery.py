"""How long a transfer takes to recover from outages of its path: `loss = "time:8s-10s"` of [path] in either direction,
before or behind the bottleneck, or a `change` to a loss of 100 %.

Recovery is the time from the end of an outage to the first moment from which the receiver gets, over a second, at
least 90 % of the rate that it had before the first outage. The rate before is the mean from half-way between the
transfer's beginning and that outage, so that slow start does not count. A second, because a single repaired hole hands
the receiver all that waited behind it, which looks like a high rate for a moment. Where the next outage or the end of
the transfer comes sooner, half a second is enough, and with less the recovery is not known. The resolution is the
receiver's interval (`[transfer] interval`). Rejected: the sender's samples, because with gateways its bytes are
acknowledged by the near one, which takes data during an outage.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from netcommon import quantity
from scenarios.plan.path import PathTable
from scenarios.trial.files import read_json, write_json

BACK = 0.9  # of the rate before
SPAN_NS = 10**9
LEAST_NS = SPAN_NS // 2  # of a span that the next outage or the end cuts short
TABLE = "recovery.json"
ENDED, NEXT, NEVER_BEFORE = "the transfer ended before", "the next outage came before", "no rate before the outage"
_ALL = 10**9  # a loss of 100 %, ppb
_KEYS = ("loss", "loss_after")
Outage = tuple[int, int]  # begin and end, ns
Interval = Sequence[int]  # begin, end, ns since the receiver's t0; bytes


def of_trial(params: Mapping[str, Any], receiver: Mapping[str, Any], box: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The outages that lie within a flow's transfer, in order: ``begin_ns`` and ``end_ns`` since its receiver's t0,
    ``recovery_ns`` and, where that is None, ``why``. From its params, the receiver's account and the box's end; empty
    without outages, and without the moments to compare."""
    intervals = receiver.get("intervals")
    if not intervals or not box.get("clock"):
        return []
    # The box counts outages from its clock's moment, the receiver its intervals from t0; both are CLOCK_MONOTONIC.
    shift_ns = box["clock"]["monotonic_ns"] - receiver["t0_monotonic_ns"]
    moved = [(begin + shift_ns, end + shift_ns) for begin, end in outages(params)]
    return recoveries(intervals, [one for one in moved if one[1] > 0 and one[0] < intervals[-1][1]])


def columns(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """``recovery_ns`` is of the last outage, ``recovery_max_ns`` the longest of all (None where one of them is not
    known), ``outages`` their number. Empty without outages."""
    if not found:
        return {}
    times = [one["recovery_ns"] for one in found]
    longest = None if None in times else max(times)
    return {"outages": len(found), "recovery_ns": times[-1], "recovery_max_ns": longest}


def write(folder: Path) -> None:
    """Writes recovery.json, the outages of each flow, where there are any."""
    params, transfer = (read_json(folder / f"{name}.json") or {} for name in ("params", "transfer"))
    box, others = read_json(folder / "delay.json") or {}, transfer.get("flows") or {}
    ends = {str(params.get("flow_name") or "main"): transfer} | others
    found = {name: of_trial(params, end.get("receiver") or {}, box) for name, end in ends.items()}
    if any(found.values()):
        write_json(folder / TABLE, {"v": 1, "flows": found})


def recoveries(intervals: Sequence[Interval], outages: Sequence[Outage]) -> list[dict[str, Any]]:
    """The same for outages in the intervals' time."""
    edges = [int(one[0]) for one in intervals] + [int(intervals[-1][1])]
    octets = [0, *accumulate(int(one[2]) for one in intervals)]
    enough = _before(edges, octets, outages[0][0]) * BACK if outages else 0.0
    found = []
    for number, (begin, end) in enumerate(outages):
        last = number + 1 == len(outages)
        until = edges[-1] if last else outages[number + 1][0]
        took = _back(edges, octets, end, until, enough) if enough else None
        why = None if took is not None else NEVER_BEFORE if not enough else ENDED if last else NEXT
        found.append({"begin_ns": begin, "end_ns": end, "recovery_ns": took, "why": why})
    return found


def _before(edges: Sequence[int], octets: Sequence[int], first_ns: int) -> float:
    """The rate before the first outage, in octets a nanosecond: over the whole intervals between half-way and it, or
    over the last one before it."""
    stop = bisect_left(edges, first_ns + 1) - 1  # the last border that is not beyond it
    start = min(bisect_left(edges, first_ns // 2), stop - 1)
    return (octets[stop] - octets[start]) / (edges[stop] - edges[start]) if start >= 0 else 0.0


def _back(edges: Sequence[int], octets: Sequence[int], end_ns: int, until_ns: int, enough: float) -> int | None:
    """The time from ``end_ns`` until there is ``enough`` over a second, or over what is left before ``until_ns``."""
    cut = bisect_left(edges, until_ns + 1) - 1
    for number in range(bisect_left(edges, end_ns), cut):
        stop = min(bisect_left(edges, edges[number] + SPAN_NS, lo=number), cut)
        lasted = edges[stop] - edges[number]
        if lasted >= LEAST_NS and octets[stop] - octets[number] >= enough * lasted:
            return edges[number] - end_ns
    return None


def outages(params: Mapping[str, Any]) -> list[Outage]:
    """The outages of a path, in either direction, by the box's clock; those that touch are one."""
    found = sorted(one for prefix in ("", "ba_") for key in _KEYS for one in _of_key(params, prefix, key))
    joined: list[Outage] = []
    for begin, end in found:
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((begin, end))
    return joined


def _of_key(params: Mapping[str, Any], prefix: str, key: str) -> Iterator[Outage]:
    """The outages that one loss of one direction makes: its model from the beginning, and those of changes."""
    first: int | str = params.get(f"{prefix}{key}") or params.get(f"{prefix}{key}_ppb") or 0
    phases = [(0, first), *_changes(str(params.get("change") or "none"), prefix, key)]
    for (begin, value), (end, _) in zip(phases, [*phases[1:], (2**63, None)], strict=True):
        for one in _ranges(value):
            inside = max(one[0], begin), min(one[1], end)
            if inside[0] < inside[1]:
                yield inside


def _changes(text: str, prefix: str, key: str) -> list[tuple[int, int | str]]:
    if text == "none":
        return []
    try:
        changes = PathTable.model_validate({"change": text}).changes()
    except ValueError:  # a file that a change named is not here
        return []
    both = [(change.at_ns, change.ba if prefix else change.ab) for change in changes]
    return [(at_ns, values[key]) for at_ns, values in both if key in values]


def _ranges(value: int | str) -> list[Outage]:
    """The outages of a loss; none if it is another model."""
    if value == _ALL:
        return [(0, 2**63)]
    kind, _, ranges = str(value).partition(":")
    if kind != "time":
        return []
    ends = (one.split("-") for one in ranges.split(","))
    return [(quantity.parse_duration_ns(begin), quantity.parse_duration_ns(end)) for begin, end in ends]
