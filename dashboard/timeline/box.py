"""The fate of packets as the delay box recorded it: columns of pktlogger's join, and the fates in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.core.mapping import taken
from dashboard.core.messages import Messages
from dashboard.core.series import I64
from dashboard.timeline.messages import fate_words

COLUMNS = ("box_fate", "t_box_in_ns", "t_box_exit_ns", "t_box_out_ns")


@dataclass(frozen=True)
class Box:
    """What the box did with each segment of a timeline, row by row. Times are ns from the timeline's origin; negative:
    never."""

    fates: tuple[str, ...]
    fate: NDArray[np.uint8]
    in_ns: I64
    exit_ns: I64
    out_ns: I64

    @classmethod
    def of(cls, fates: list[str], columns: dict[str, NDArray[Any]], origin_ns: int) -> Box:
        """Made from the columns of segments.parquet."""
        times = (np.where(columns[name] < 0, -1, columns[name] - origin_ns) for name in COLUMNS[1:])
        return cls(tuple(fates), columns["box_fate"], *times)

    def name(self, fate: int) -> str:
        """The name of a fate; empty for an unknown one."""
        return self.fates[fate] if fate < len(self.fates) else ""

    def sentences(self, rows: I64, say: Messages) -> NDArray[np.object_]:
        """For each of these segments, why it never arrived."""
        names = [self.name(fate) for fate in range(256)]
        dropped = [fate_words(say, name, long=True) for name in names]
        behind = [
            say("lost.behind", fate=text) if name in ("loss", "outage") else text
            for name, text in zip(names, dropped, strict=True)
        ]
        passed = taken(self.exit_ns, rows) >= 0
        table = np.asarray([dropped, behind], object)
        return np.asarray(table[passed.astype(np.int8), taken(self.fate, rows)])
