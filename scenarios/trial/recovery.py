"""How long a transfer takes to recover from outages of its path: `loss = "time:8s-10s"` of [path] in either direction,
before or behind the bottleneck, or a `change` to a loss of 100 %. Recovery from events at gateways is measured in the
same way.

Recovery is the time from the end of an outage (by the delay box's clock) to the moment when the rate is back. The rate
is back when the receiver gets at least 90 % of its rate before the first outage, both over the next round trip of the
empty path (10 ms at least) and over the next second. The round trip is needed because a second may begin before the
data is back and still have 90 %. The second is needed because a burst looks like a high rate for a moment. The rate
before the outage is the mean over the second half of the time from the transfer's beginning to the first outage, so
that slow start does not count. Where the next outage or the end of the transfer comes sooner, half a second is enough;
with less the recovery is unknown.

With captures at both ends the moments at which octets arrive are known exactly. Without captures the moments are the
borders of the receiver's intervals (`[transfer] interval`). Octets may have come at any time in the two intervals next
to such a border, so the largest error of the recovery time, `error_ns`, is the longer of the two. Rejected: the
sender's samples, because with gateways its bytes are acknowledged by the near one, which takes data during an outage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from comet_delay.only import ALL
from netcommon import quantity
from scenarios.plan import events, pair_path
from scenarios.plan.path import PathTable
from scenarios.trial import arrivals, clock
from scenarios.trial.concerned import Concerned, by
from scenarios.trial.files import read_json, write_json

BACK = 0.9  # share of the rate before the outage
SPAN_NS = 10**9
LEAST_NS = SPAN_NS // 2  # enough where the next outage or the end cuts a span short
ROUND_NS = 10**7  # least round trip; a shorter one holds too few packets
VERSION = 4
TABLE = "recovery.json"
ENDED, NEXT, NEVER_BEFORE = "the transfer ended before", "the next outage came before", "no rate before the outage"
_ALL = 10**9  # a loss of 100 %, ppb
_KEYS = ("loss", "loss_after")
I64 = NDArray[np.int64]
Outage = tuple[int, int]  # begin and end, ns
Clock = Literal["monotonic", "realtime"]
Interval = Sequence[int]  # begin, end, ns since the receiver's t0; bytes
Series = tuple[I64, I64]  # moments, ns since the receiver's t0; the octets that had come before each


def of_intervals(intervals: Sequence[Interval]) -> Series:
    table = np.asarray(intervals, np.int64)
    return np.append(table[:, 0], table[-1, 1]), np.append(0, np.cumsum(table[:, 2]))


def of_arrivals(t_ns: I64, octets: I64) -> Series:
    """The series of octets that had arrived by each of these moments."""
    return np.append(t_ns, t_ns[-1] + 1), np.append(0, octets)


def of_trial(
    params: Mapping[str, Any],
    receiver: Mapping[str, Any],
    box: Mapping[str, Any],
    origin_ns: int,
    came: arrivals.Series | None = None,
    concerned: Concerned | None = None,
) -> list[dict[str, Any]]:
    """The outages that lie within a flow's transfer, in order: ``begin_ns`` and ``end_ns`` since ``origin_ns`` (the
    trial's, CLOCK_MONOTONIC), ``recovery_ns``, ``error_ns`` and, where both are None, ``why``. ``params``: the flow's;
    ``receiver``: the receiver's account; ``box``: the box's end; ``came``: the flow's arrivals, in CLOCK_REALTIME;
    ``concerned``: whether an outage affects the flow. Empty without outages, and if the receiver has no intervals or
    the box no clock."""
    intervals = receiver.get("intervals")
    if not intervals or not box.get("clock"):
        return []
    t0_ns = receiver["t0_monotonic_ns"]
    moved = [(begin - t0_ns, end - t0_ns) for begin, end in _disturbed(params, box, concerned)]
    series = of_arrivals(came[0] - receiver["t0_realtime_ns"], came[1]) if came else of_intervals(intervals)
    within = [one for one in moved if one[1] > 0 and one[0] < series[0][-1]]
    found = recoveries(series, within, int(params.get("rtt_ns") or 0), exact=came is not None)
    later_ns = receiver["t0_monotonic_ns"] - origin_ns
    return [one | {name: one[name] + later_ns for name in ("begin_ns", "end_ns")} for one in found]


def columns(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """``recovery_ns`` and ``recovery_error_ns`` describe the last outage; ``recovery_max_ns`` is the longest of all
    (None where one of them is unknown), ``outages`` their number. Empty without outages."""
    if not found:
        return {}
    times = [one["recovery_ns"] for one in found]
    longest = None if None in times else max(times)
    return {
        "outages": len(found),
        "recovery_ns": times[-1],
        "recovery_error_ns": found[-1].get("error_ns"),
        "recovery_max_ns": longest,
    }


def of_flows(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The outages of each flow of a trial, by name: as recovery.json has them, or computed from the trial's files."""
    kept = read_json(folder / TABLE) or {}
    if kept.get("v") == VERSION:
        flows: dict[str, list[dict[str, Any]]] = kept["flows"]
        return flows
    params, transfer = (read_json(folder / f"{name}.json") or {} for name in ("params", "transfer"))
    box, beside = read_json(folder / "delay.json") or {}, read_json(folder / "flows.json") or []
    ends = transfer.get("flows") or {}
    each = [(str(params.get("flow_name") or "main"), params, transfer)]
    each += [(flow["flow_name"], params | flow, ends.get(flow["flow_name"], {})) for flow in beside]
    origin_ns = clock.origin_ns(transfer, "monotonic")
    if not any(_disturbed(own, box) for _, own, _ in each) or origin_ns is None:
        return {}
    return {
        name: of_trial(
            own, end.get("receiver") or {}, box, origin_ns, _came(folder, own, end, alone=not beside), by(own, end)
        )
        for name, own, end in each
    }


def _came(folder: Path, params: Mapping[str, Any], end: Mapping[str, Any], *, alone: bool) -> arrivals.Series | None:
    """A flow's arrivals; None where its captures do not show them, or the receiver did not report when it began."""
    if "t0_realtime_ns" not in (end.get("receiver") or {}):
        return None
    behind = params.get("gateway") not in (None, "none") and params.get("gateway_model") != "host"
    return arrivals.of_flow(folder, end, behind_gateway=behind, alone=alone)


def write(folder: Path) -> None:
    """Writes recovery.json, the outages of each flow, where there are any."""
    found = of_flows(folder)
    if any(found.values()):
        write_json(folder / TABLE, {"v": VERSION, "flows": found})


def recoveries(series: Series, outages: Sequence[Outage], round_ns: int, *, exact: bool) -> list[dict[str, Any]]:
    """Like `of_trial`, with the outages on the series' time axis. ``exact``: nothing arrived between two moments."""
    moments, octets = series
    enough = _before(moments, octets, outages[0][0]) * BACK if outages else 0.0
    found = []
    for number, (begin, end) in enumerate(outages):
        last = number + 1 == len(outages)
        until = int(moments[-1]) if last else outages[number + 1][0]
        back = _back(series, end, until, enough, max(round_ns, ROUND_NS), exact=exact) if enough else None
        why = None if back is not None else NEVER_BEFORE if not enough else ENDED if last else NEXT
        took = None if back is None else int(moments[back]) - end
        error = None if back is None else 0 if exact else int(np.diff(moments[max(back - 1, 0) : back + 2]).max())
        found.append({"begin_ns": begin, "end_ns": end, "recovery_ns": took, "error_ns": error, "why": why})
    return found


def _before(moments: I64, octets: I64, first_ns: int) -> float:
    """The rate before the first outage, in octets a nanosecond: from the moment half-way to the outage to the last one
    before it, or between the last two different moments before it, because packets may come together."""
    stop = int(np.searchsorted(moments, first_ns, side="right")) - 1
    if stop < 0:
        return 0.0
    before = int(np.searchsorted(moments, moments[stop])) - 1
    start = min(int(np.searchsorted(moments, first_ns // 2)), before)
    return float((octets[stop] - octets[start]) / (moments[stop] - moments[start])) if start >= 0 else 0.0


def _back(series: Series, end_ns: int, until_ns: int, enough: float, round_ns: int, *, exact: bool) -> int | None:
    """The index of the moment when the rate is back, at ``end_ns`` or later. The next octets come at the next moment,
    and the rate is at least ``enough`` over a round trip and over a second, or over the parts of them before
    ``until_ns``. None if there is no such moment, or too little time is left. ``exact``: nothing came between two
    moments; otherwise a span lasts until the next moment."""
    moments, octets = series
    cut = int(np.searchsorted(moments, until_ns, side="right")) - 1
    first = int(np.searchsorted(moments, end_ns))
    own = np.arange(first, max(cut, first))
    fine = octets[own + 1] > octets[own]
    for span_ns in (round_ns, SPAN_NS):
        stop = np.minimum(np.searchsorted(moments, moments[own] + span_ns), cut)
        lasted = moments[stop] - moments[own]
        if exact:  # nothing came between the span's end and the next moment
            lasted = np.minimum(lasted, span_ns)
        fine &= (octets[stop] - octets[own] >= enough * lasted) & (lasted >= min(span_ns, LEAST_NS))
    return int(own[np.argmax(fine)]) if fine.any() else None


def outages(params: Mapping[str, Any], concerned: Concerned | None = None) -> list[Outage]:
    """The outages of a path, in either direction, by the box's clock; those that touch are one. ``concerned``: only
    outages that drop packets of a flow count (`[path] only`)."""
    ways = [(prefix, key) for prefix in ("", "ba_") for key in _KEYS]
    return _joined(
        both
        for prefix, key in ways
        for one in _of_key(params, prefix, key)
        for both in _while_concerned(one, params, prefix, concerned)
    )


def has_outages(params: Mapping[str, Any]) -> bool:
    """Whether [path] or the own path of a flow's pair has outages."""
    return any(outages(path) for path in pair_path.paths(params))


def of_boxes(
    params: Mapping[str, Any], box: Mapping[str, Any], which: Clock, concerned: Concerned | None = None
) -> list[Outage]:
    """The outages of all delay boxes that a flow crosses, [path]'s and its pair's own, by a clock. ``box``: the end of
    the first box, with those of the others under ``hops``. Boxes without a clock are left out."""
    return _joined(
        (began_ns + begin, began_ns + end)
        for path, began_ns in _crossed(params, box, which)
        for begin, end in outages(path, concerned)
    )


def _disturbed(params: Mapping[str, Any], box: Mapping[str, Any], concerned: Concerned | None = None) -> list[Outage]:
    """The outages of a flow's path, and the times in which an event took a gateway away, by CLOCK_MONOTONIC."""
    began_ns = int((box.get("clock") or {}).get("monotonic_ns") or 0)
    away = [(began_ns + begin, began_ns + end) for begin, end in events.spans(str(params.get("events") or "none"))]
    return _joined([*of_boxes(params, box, "monotonic", concerned), *away])


def _crossed(
    params: Mapping[str, Any], box: Mapping[str, Any], which: Clock
) -> Iterator[tuple[Mapping[str, Any], int]]:
    """The parameters of each path that a flow crosses, and time 0 of its box."""
    path, *own = pair_path.paths(params)
    found = [(path, box)]
    for hop in box.get("hops") or ():
        found += [(one, hop) for one in own if hop.get("pair") == (params.get("pair") or 1)]
    for one, end in found:
        if began_ns := (end.get("clock") or {}).get(f"{which}_ns"):
            yield one, int(began_ns)


def _joined(found: Iterable[Outage]) -> list[Outage]:
    joined: list[Outage] = []
    for begin, end in sorted(found):
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((begin, end))
    return joined


def _of_key(params: Mapping[str, Any], prefix: str, key: str) -> Iterator[Outage]:
    """The outages of one direction by one key: by its model at the beginning, and by those after changes."""
    first: int | str = params.get(f"{prefix}{key}") or params.get(f"{prefix}{key}_ppb") or 0
    for phase, value in _phases(params, prefix, key, first):
        yield from _overlaps(_ranges(value), phase)


def _while_concerned(
    outage: Outage, params: Mapping[str, Any], prefix: str, concerned: Concerned | None
) -> Iterator[Outage]:
    """The parts of an outage in which the direction's filter selects packets of the flow."""
    phases = _phases(params, prefix, "only", str(params.get(f"{prefix}only") or ALL))
    own = [phase for phase, text in phases if concerned is None or concerned(prefix, str(text))]
    return _overlaps(own, outage)


def _phases(params: Mapping[str, Any], prefix: str, key: str, first: int | str) -> Iterator[tuple[Outage, int | str]]:
    """The values of a direction's key, each with the time in which it holds."""
    values = [(0, first), *_changes(str(params.get("change") or "none"), prefix, key)]
    for (begin, value), (end, _) in zip(values, [*values[1:], (2**63, 0)], strict=True):
        yield (begin, end), value


def _overlaps(ranges: Iterable[Outage], other: Outage) -> Iterator[Outage]:
    for one in ranges:
        inside = max(one[0], other[0]), min(one[1], other[1])
        if inside[0] < inside[1]:
            yield inside


def _changes(text: str, prefix: str, key: str) -> list[tuple[int, int | str]]:
    if text == "none":
        return []
    try:
        changes = PathTable.model_validate({"change": text}).changes()
    except ValueError:  # the file of a change's model is not on this machine
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
