"""The round-trip time of an empty path over time: at the beginning, and after each ``change`` of its delays. Smoothed
RTTs are compared with it (RFC 6349's buffer delay)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from scenarios.plan.path import PathTable


def mean_ns(params: Mapping[str, Any], box: Mapping[str, Any], t_ns: npt.NDArray[np.int64]) -> float | None:
    """The mean baseline of a flow at these times (CLOCK_MONOTONIC), from its params and the box's end; None on a path
    without delay."""
    steps = round_trips(params)
    if not t_ns.size or not steps[0][1]:
        return None
    began = int((box.get("clock") or {}).get("monotonic_ns") or t_ns[0])  # changes count from then
    at = np.searchsorted([began + at_ns for at_ns, _ in steps[1:]], t_ns, side="right")
    return float(np.asarray([rtt_ns for _, rtt_ns in steps])[at].mean())


def round_trips(params: Mapping[str, Any]) -> list[tuple[int, float]]:
    """The round-trip times of the empty path, ns, each with the time from which on it holds, counted from the box's
    start, ns."""
    rtt_ns, ab = float(params.get("rtt_ns") or 0), float(params.get("delay_ns") or 0)
    ba = params.get("ba_delay_ns")
    delays = {"ab": ab, "ba": ab if ba is None else float(ba)}
    crossed = int(params.get("hops") or 1) if int(params.get("pair") or 1) == 1 else 1  # boxes of [path] in a row
    own_ns = rtt_ns - crossed * sum(delays.values())  # the pair's own path
    steps = [(0, rtt_ns)]
    text = str(params.get("change") or "none")
    if text == "none":
        return steps
    try:
        changes = PathTable.model_validate({"change": text}).changes()
    except ValueError:  # the file of a change's model is not on this machine
        return steps
    for change in changes:
        for way, values in (("ab", change.ab), ("ba", change.ba)):
            delays[way] = float(values.get("delay", delays[way]))
        steps.append((change.at_ns, own_ns + crossed * sum(delays.values())))
    return steps
