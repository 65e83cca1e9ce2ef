"""All that happened to a flow, in one order of time: stops, labelled events, losses, retransmissions.

None is left out, however many there are: the order is kept as numbers, and texts are made for the rows that are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from dashboard.core.downsample import inside
from dashboard.core.series import I64
from dashboard.timeline.flow import Flow, Losses
from netcommon import trial_tables

STOP, EVENT, LOSS, RESENT = range(4)


@dataclass(frozen=True)
class Happened:
    """What happened, in order of time. `source`: STOP … RESENT; `row`: the number among the events of that source."""

    t_ns: I64
    source: NDArray[np.uint8]
    row: I64

    def between(self, t0: int, t1: int) -> slice:
        """The rows within [t0, t1]."""
        return inside(self.t_ns, t0, t1)

    def after(self, t: int) -> int | None:
        """The time of the first event after `t`; None without one."""
        row = int(np.searchsorted(self.t_ns, t, side="right"))
        return int(self.t_ns[row]) if row < self.t_ns.size else None

    def before(self, t: int) -> int | None:
        """The time of the last event before `t`."""
        row = int(np.searchsorted(self.t_ns, t, side="left")) - 1
        return int(self.t_ns[row]) if row >= 0 else None


def happened(flow: Flow) -> Happened:
    """All events of a flow, each at its beginning."""
    losses = flow.losses.t_ns if flow.losses else flow.sent_ns[flow.lost_rows]
    resent = flow.resent_rows
    times = [np.asarray([stop.t0_ns for stop in flow.stops], np.int64), flow.events.t0_ns, losses, flow.sent_ns[resent]]
    rows = [*(np.arange(t.size) for t in times[:RESENT]), resent]
    t = np.concatenate(times)
    order = np.argsort(t, kind="stable")
    source = np.repeat(np.arange(len(times), dtype=np.uint8), [part.size for part in times])
    return Happened(t[order], source[order], np.concatenate(rows)[order])


def load_losses(
    path: Path, flow: int, names: list[str], origin_ns: int, ruled_out: list[str] | None = None
) -> Losses | None:
    """The losses of a flow with their causes; None where the analysis has none, as in runs of an older pktlogger."""
    if not (names and path.is_file()):
        return None
    columns = ["flow", "t_sent_ns", "seq", "cause", "run", "queue_ns"]
    table = trial_tables.read(path, columns, memory_map=True)
    table = table.filter(pc.equal(table.column("flow"), flow)).sort_by("t_sent_ns")
    if table["t_sent_ns"].null_count:  # captured at the receiver alone
        return None
    found: dict[str, NDArray[Any]] = {
        name: pc.fill_null(table[name], -1).to_numpy() if table[name].null_count else table[name].to_numpy()
        for name in columns[1:]
    }
    known = np.minimum(found["cause"], len(names) - 1).astype(np.uint8)
    return Losses(
        found["t_sent_ns"].astype(np.int64) - origin_ns,
        found["seq"].astype(np.int64),
        known,
        found["run"].astype(np.int64),
        found["queue_ns"].astype(np.int64),
        tuple(names),
        tuple(ruled_out or ()),
    )
