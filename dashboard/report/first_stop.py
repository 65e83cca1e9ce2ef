"""The facts that lfp-1995/fig4 states about its first stop, measured in the same way on a timeline.

Rates are slopes over the last 50 ms before sending stopped, while the queue was filling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dashboard.core.parts import Table
from dashboard.core.series import I64
from dashboard.timeline.timeline import Timeline
from netcommon import readable

SLOPE_NS = 50_000_000


@dataclass(frozen=True)
class FirstStop:
    """The first stop in the paper's terms, in SI units; times are in s from the first segment."""

    seq_rate_bps: float
    ack_rate_bps: float
    stop_begins_s: float
    outstanding_bytes: float
    stop_ends_s: float


LABELS: dict[str, tuple[str, Callable[[float], str]]] = {
    "seq_rate_bps": ("Seq rises before the stop", readable.rate),
    "ack_rate_bps": ("Ack rises before the stop", readable.rate),
    "outstanding_bytes": ("Outstanding when sending stops", readable.size),
    "stop_begins_s": ("Nothing is sent from", lambda value: f"{readable.number(value, 3)} s"),
    "stop_ends_s": ("Sending goes on at", lambda value: f"{readable.number(value, 3)} s"),
}


def measured(timeline: Timeline) -> FirstStop | None:
    """The facts about a timeline's first stop; None when sending never stopped."""
    if not timeline.stops:
        return None
    stop = timeline.stops[0]
    start = max(stop.t0_ns - SLOPE_NS, 0)
    flight = timeline.unacknowledged
    return FirstStop(
        seq_rate_bps=_slope_bps(timeline.sent_ns, np.maximum.accumulate(timeline.end), start, stop.t0_ns),
        ack_rate_bps=_slope_bps(timeline.ack_ns, np.maximum.accumulate(timeline.ack), start, stop.t0_ns),
        stop_begins_s=stop.t0_ns / 1e9,
        outstanding_bytes=_at(flight.t_ns, flight.value, stop.t0_ns),
        stop_ends_s=stop.t1_ns / 1e9,
    )


def _at(t: I64, value: I64, when: int) -> float:
    """The value after the last change at or before `when`; 0 before the first change."""
    row = int(np.searchsorted(t, when, side="right")) - 1
    return float(value[row]) if row >= 0 else 0.0


def _slope_bps(t: I64, value: I64, start: int, end: int) -> float:
    return (_at(t, value, end) - _at(t, value, start)) * 8e9 / max(end - start, 1)


def fact_table(paper: dict[str, tuple[float, str]], measured: FirstStop) -> Table:
    """The paper's facts about its Seq/Ack figure next to those of a timeline's first stop."""
    rows = [
        (label, show(paper[name][0]) if name in paper else readable.NOTHING, show(getattr(measured, name)))
        for name, (label, show) in LABELS.items()
    ]
    return Table(("First stop", "Paper", "Measured"), tuple(rows), frozenset({1, 2}))
