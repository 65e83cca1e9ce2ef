"""Converts the times of an analysis to another clock: that of the first leg's sender's capture.

The times of each leg are on the clock of its own sender's capture. The first leg's analysis has an estimate of its
receiver's clock (FORMAT.md, section 3, `clock`). This converts the next leg, if the next leg's sender has the same
clock: if both legs share the capture between them, or if both captures there were made on one machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pktlogger.columns import TABLES, Analysis

Clock = dict[str, Any]
_TIMES = ("t_ns", "t0_ns", "t1_ns", "at_ns")  # keys of summary.json that hold a point in time


def on_one_clock(analyses: Sequence[Analysis]) -> list[Analysis]:
    """The legs of one path, all converted to the clock of the first sender's capture."""
    clocks: list[Clock] = []
    found = []
    for leg in analyses:
        moved = leg
        for clock in reversed(clocks):
            moved = on_senders_clock(moved, clock)
        found.append(moved)
        clocks.append(leg.summary.get("clock") or {})
    return found


def on_senders_clock(analysis: Analysis, clock: Clock) -> Analysis:
    """Converts an analysis from the receiver's clock of `clock` to the sender's."""
    if clock.get("clock") not in ("two", "given"):
        return analysis
    tables = {name: _moved(getattr(analysis, name), clock) for name in TABLES}
    return Analysis(**tables, summary=_summary(analysis.summary, clock))


def _moved(table: pa.Table, clock: Clock) -> pa.Table:
    for place, name in enumerate(table.column_names):
        if name.startswith(("t_", "t0_", "t1_")) and name.endswith("ns"):
            shown = table[name].to_numpy()
            moved = np.where(shown < 0, shown, sender_ns(shown, clock))
            table = table.set_column(place, name, pa.array(moved, table[name].type))
    return table


def sender_ns(shown_ns: NDArray[np.int64], clock: Clock) -> NDArray[np.int64]:
    """What the sender's clock showed when the receiver's clock showed `shown_ns`."""
    ahead = np.full(shown_ns.shape, int(clock.get("offset_ns") or 0), np.int64)
    for step in clock.get("steps") or ():
        ahead += np.where(shown_ns - ahead - int(step["step_ns"]) >= int(step["t_ns"]), int(step["step_ns"]), 0)
    since = shown_ns - ahead - int(clock.get("at_ns") or 0)
    drift = float(clock.get("drift_ppm") or 0.0) * 1e-6
    drifted = np.rint(since * (drift / (1 + drift))).astype(np.int64)
    return np.asarray(shown_ns - ahead - drifted, np.int64)


def _summary(value: Any, clock: Clock) -> Any:
    if isinstance(value, dict):
        return {key: _moment(one, clock) if key in _TIMES else _summary(one, clock) for key, one in value.items()}
    return [_summary(one, clock) for one in value] if isinstance(value, list) else value


def _moment(value: Any, clock: Clock) -> Any:
    if not isinstance(value, int) or value < 0:
        return value
    return int(sender_ns(np.asarray([value], np.int64), clock)[0])
