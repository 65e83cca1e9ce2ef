"""What the line of a trial's path lets through over time, for ``pktlogger analyse --line`` (FORMAT.md section 6,
"line"): what the delay box has recorded, or without a record what the scenario says. So netem's line is known as well.
The scenario also adds what the box cannot know: the sender's network interface, further boxes in a row, the
captured pair's own path, and what system calls cost the hosts.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from netcommon import quantity
from scenarios.plan import flows, policer
from scenarios.plan.model import Scenario
from scenarios.plan.path import PER_FLOW_AQM, Direction, PathTable
from scenarios.statistics.line import ON_THE_WIRE
from scenarios.trial.files import read_json, write_json

Step = dict[str, Any]
WAYS: tuple[Literal["ab"], Literal["ba"]] = ("ab", "ba")
TABLE = "line.json"
_TUN_HEADER = 4  # octets that mm-link counts with each packet
_QUEUES_BEHIND = ("pace", "pace_packets", "drain_rate", "harmonize", "bunch")


def write(setting: Scenario, folder: Path, record: Path) -> None:
    """Writes TABLE into the trial's ``folder``. ``record``: the folder with the box's record, if there is one."""
    write_json(folder / TABLE, of_trial(setting, read_json(record / "record.json"), *_began_ns(folder)))


def turned(line: dict[str, Any]) -> dict[str, Any]:
    """The same line as seen by a sender in the reverse direction."""
    own = [key for key in ("per_flow", "in_front", "policer", "marker") if key in line]
    answers = {key: {"ab": line[key]["ba"], "ba": line[key]["ab"]} for key in own}
    return line | {"ab": line["ba"], "ba": line["ab"]} | answers


def of_trial(setting: Scenario, record: dict[str, Any] | None, began_ns: int, own_began_ns: int = 0) -> dict[str, Any]:
    """The line of a path between two hosts, from the sender's to the receiver's first. ``began_ns``: time 0 of the
    box's clock, by the captures' clock; ``own_began_ns``: the same for the box of the pair's own path."""
    recorded = (record or {}).get("line")
    lines = recorded or {way: of_path(setting.path, way, began_ns) for way in WAYS}
    nic, hops = setting.path.nic_rate or math.inf, setting.topology.hops or 1
    in_front = {"ab": any(nic < _number(step["rate_bps"]) for step in lines["ab"]), "ba": False}
    for step in lines["ab"]:
        step["rate_bps"] = _finite(min(nic, _number(step["rate_bps"])))
    paths, slowest = [setting.path], {way: [setting.path] for way in WAYS}
    if own := flows.own_path(setting, 1):
        paths.append(own)
        for way in WAYS:
            other = of_path(own, way, own_began_ns)
            slower = _slower(lines[way], other), _slower(other, lines[way])
            slowest[way] = [path for path, others in zip(paths, reversed(slower), strict=True) if not all(others)]
            in_front[way] |= way == "ab" and any(slower[1])
            lines[way] = _joined(lines[way], other)
    for way in WAYS:
        for step in lines[way]:
            step["queues_behind"] = step["queues_behind"] or hops > 1
    cpu = setting.cpu
    hosts_bps = cpu.rate if cpu.rate and cpu.of in ("hosts", "all") else None
    answers = {
        "per_flow": {way: all(_per_flow(path, way) for path in slowest[way]) for way in WAYS},
        "in_front": in_front,
        "policer": {way: _policer(paths, way) for way in WAYS},
        "marker": {way: _marker(paths, way) for way in WAYS},
    }
    return {"v": 1, **{way: lines[way] for way in WAYS}, "hosts_bps": hosts_bps, **answers}


def _at_each(steps: Sequence[Step], others: Sequence[Step]) -> list[tuple[int, Step, Step]]:
    """The steps of two lines in a row, at each time at which either changes. Before its first step a line is as in
    that step."""
    times = [[int(step["t_ns"]) for step in line] for line in (steps, others)]
    return [
        (t_ns, steps[max(bisect_right(times[0], t_ns) - 1, 0)], others[max(bisect_right(times[1], t_ns) - 1, 0)])
        for t_ns in sorted({*times[0], *times[1]})
    ]


def _slower(steps: Sequence[Step], others: Sequence[Step]) -> list[bool]:
    """Whether the first of two lines is the slower one, each time."""
    each = _at_each(steps, others)
    return [_number(one["rate_bps"]) < _number(other["rate_bps"]) for _, one, other in each]


def _joined(steps: Sequence[Step], others: Sequence[Step]) -> list[Step]:
    """Two lines in a row as one with the rate of the slower one."""
    joined = []
    for t_ns, one, other in _at_each(steps, others):
        slow, fast = (other, one) if _number(other["rate_bps"]) < _number(one["rate_bps"]) else (one, other)
        by_packets = [bound for bound in (one["packets_per_s"], other["packets_per_s"]) if bound]
        found = {"t_ns": t_ns, "packets_per_s": min(by_packets, default=None), "queues_behind": True}
        joined.append({**slow, **found, "mean": slow["mean"] or fast["mean"]})
    return joined


def _per_flow(path: PathTable, way: Literal["ab", "ba"]) -> bool:
    """Whether flows have queues and shares of their own at the bottleneck, also after every change of the path."""
    return all(str(phase.values["aqm"]).partition(":")[0] in PER_FLOW_AQM for phase in path.phases(way))


def _policer(paths: Sequence[PathTable], way: Literal["ab", "ba"]) -> dict[str, Any] | None:
    """The slowest policer of a direction over paths in a row."""
    found = (_policer_of(path, way) for path in paths)
    return min(filter(None, found), key=lambda one: int(one["rate_bps"]), default=None)


def _policer_of(path: PathTable, way: Literal["ab", "ba"]) -> dict[str, Any] | None:
    """The policer of a direction: its rate, and whether it marks the excess where packets are ECN-capable. After
    changes the largest rate counts. None unless there is a policer all the time."""
    texts = [str(phase.values["aqm"]).partition(":") for phase in path.phases(way)]
    if any(kind != policer.NAME for kind, _, _ in texts):
        return None
    found = [dict(key.strip().split("=") for key in keys.split(",")) for _, _, keys in texts]
    return {
        "rate_bps": max(quantity.parse_rate_bps(one["rate"]) for one in found),
        "marks": any(one.get("ecn") == "on" for one in found),
    }


def _marker(paths: Sequence[PathTable], way: Literal["ab", "ba"]) -> str | None:
    """What marks packets, if anything does. None if the path has both a policer and queue management, at different
    times or in different places."""
    names = {str(phase.values["aqm"]).partition(":")[0] for path in paths for phase in path.phases(way)}
    policers = {name == policer.NAME for name in names - {"none"}}
    return ("policer" if policers.pop() else "aqm") if len(policers) == 1 else None


def of_path(path: PathTable, way: Literal["ab", "ba"], began_ns: int) -> list[Step]:
    """How the line of one direction changes over time, according to the scenario."""
    steps: list[Step] = []
    trace, origin_ns = None, 0
    phases = path.phases(way)
    begins = [0, *(change.at_ns for change in path.changes())]
    for (begin_ns, end_ns), phase in zip(itertools.pairwise([*begins, math.inf]), phases, strict=True):
        if phase.values["rate_trace"] != trace:
            trace, origin_ns = phase.values["rate_trace"], int(begin_ns)
        for t_ns, bps in _bottleneck(phase, origin_ns, int(begin_ns), end_ns):
            steps.append(_step(phase, path.framing, began_ns + t_ns, bps))
    return steps


def _bottleneck(phase: Direction, origin_ns: int, begin_ns: int, end_ns: float) -> Iterator[tuple[int, float]]:
    """The bottleneck's rate, all its channels together, from ``begin_ns`` to ``end_ns``: times and rates."""
    channels, trace = int(phase.values["channels"]), phase.trace
    if trace is None or trace.repeats:
        yield begin_ns, (trace.sizing_bps if trace else phase.rate_bps or math.inf) * channels
        return
    pairs = zip(itertools.pairwise(trace.times_s), itertools.pairwise(trace.bits), strict=True)
    rates = [(late - early) / (until - since) for (since, until), (early, late) in pairs] + [trace.last_bps]
    times = [origin_ns + round(since * 1e9) for since in trace.times_s]
    for (since_ns, until_ns), rate in zip(itertools.pairwise([*times, math.inf]), rates, strict=True):
        if until_ns > begin_ns and since_ns < end_ns:
            yield max(int(since_ns), begin_ns), rate * channels


def _step(phase: Direction, framing: str, t_ns: int, bottleneck_bps: float) -> Step:
    values, trace = phase.values, phase.trace
    by_packets = int(values["pace_packets"])
    others = [values["access_rate"], values["drain_rate"], values["harmonize"], 0 if by_packets else values["pace"]]
    opportunities = trace is not None and trace.repeats
    tun = str(values["rate_trace"]).startswith("mm-link:")
    return {
        "t_ns": t_ns,
        "rate_bps": _finite(min(bottleneck_bps, *(int(rate) or math.inf for rate in others))),
        "packets_per_s": by_packets or None,
        "overhead_bytes": _TUN_HEADER if tun else ON_THE_WIRE[framing],
        "mean": opportunities,
        "queues_behind": any(values[key] for key in _QUEUES_BEHIND),
    }


def _began_ns(folder: Path) -> tuple[int, int]:
    """Time 0 of [path]'s box and of the box of pair 1's own path, by CLOCK_REALTIME; 0: unknown."""
    box = read_json(folder / "delay.json") or {}
    own: dict[str, Any] = next((one for one in box.get("hops") or () if one.get("pair") == 1), {})
    path_ns, own_ns = (int((one.get("clock") or {}).get("realtime_ns") or 0) for one in (box, own))
    return path_ns, own_ns


def _number(bound: float | None) -> float:
    return math.inf if bound is None else bound


def _finite(bound: float) -> int | None:
    return round(bound) if math.isfinite(bound) else None
