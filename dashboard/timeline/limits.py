"""What limited the sender at each moment, as pktlogger found it (FORMAT.md, "Limits"): spans that lie end to end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from dashboard.core.series import I64
from netcommon import trial_tables


@dataclass(frozen=True)
class Limits:
    """Spans in order of time, ns from the origin; `cause` counts in `names`."""

    t0_ns: I64
    t1_ns: I64
    cause: NDArray[np.uint8]
    names: tuple[str, ...]

    @cached_property
    def until(self) -> I64:
        """For each cause (a row) its total time before each span; the last column has the totals."""
        lasted = np.where(np.arange(len(self.names))[:, None] == self.cause, self.t1_ns - self.t0_ns, 0)
        return np.concatenate([np.zeros((len(self.names), 1), np.int64), np.cumsum(lasted, axis=1)], axis=1)

    def most_of_the_time(self) -> tuple[str, float] | None:
        """The cause of more than half of the time, and its share; None without one."""
        times = self.until[:, -1]
        most = int(times.argmax())
        share = float(times[most] / times.sum())
        return (self.names[most], share) if share > 0.5 else None

    def time_until(self, t_ns: I64) -> NDArray[np.float64]:
        """For each cause (a row) the time in ns that it had before each of `t_ns`."""
        edges = np.append(self.t0_ns, self.t1_ns[-1:])
        return np.asarray([np.interp(t_ns, edges, row) for row in self.until])

    def band(self, t0: int, t1: int, bins: int) -> tuple[I64, I64, NDArray[np.uint8], bool]:
        """Spans that a screen can show, with their causes: the spans of the view or, where there are more than `bins`,
        `bins` equal parts, each with the cause that had most of its time. The last value says which of the two was
        returned."""
        first = int(np.searchsorted(self.t1_ns, t0, side="right"))
        last = int(np.searchsorted(self.t0_ns, t1, side="left"))
        if last - first <= bins:
            own = slice(first, max(last, first))
            return np.maximum(self.t0_ns[own], t0), np.minimum(self.t1_ns[own], t1), self.cause[own], False
        edges = np.linspace(max(t0, int(self.t0_ns[0])), min(t1, int(self.t1_ns[-1])), bins + 1).astype(np.int64)
        most = np.diff(self.time_until(edges), axis=1).argmax(axis=0).astype(np.uint8)
        starts = np.flatnonzero(np.diff(most, prepend=255))
        return edges[starts], edges[np.append(starts[1:], bins)], most[starts], True


def load(path: Path, flow: int, names: list[str], origin_ns: int) -> Limits | None:
    """The limits of a flow, from limits.parquet; None where there is none, as in runs of an older pktlogger."""
    if not (names and path.is_file()):
        return None
    table = trial_tables.read(path, ["flow", "t0_ns", "t1_ns", "cause"], memory_map=True)
    table = table.filter(pc.equal(table.column("flow"), flow)).sort_by("t0_ns")
    if not table.num_rows:
        return None
    t0, t1, cause = (table[name].to_numpy() for name in ("t0_ns", "t1_ns", "cause"))
    known = np.minimum(cause, len(names) - 1).astype(np.uint8)
    return Limits(t0 - origin_ns, t1 - origin_ns, known, tuple(names))
