"""The fate of packets as the delay box recorded it: columns of pktlogger's join, and the fates in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.core.mapping import taken
from dashboard.core.series import I64

UNSEEN = 255  # the fate of a packet that the record does not have
COLUMNS = ("box_fate", "t_box_in_ns", "t_box_exit_ns", "t_box_out_ns")

# Words for each fate: in the legend, and in a sentence about one packet.
WORDS = {
    "sent": ("behind the box", "left the delay box, and never arrived"),
    "loss": ("by the path's loss", "dropped by the path's loss"),
    "queue": ("queue full", "dropped because the bottleneck's queue was full"),
    "aqm": ("by the queue's management", "dropped by the active queue management"),
    "pace": ("pacer full", "dropped because the pacer's buffer was full"),
    "memory": ("box out of memory", "dropped because the delay box had no memory: not the model's doing"),
    "write": ("far port full", "dropped because the far port did not take it: not the model's doing"),
    "drain": ("receiver's buffer full", "dropped because the buffer of the receiver's NIC was full"),
    "outage": ("in an outage", "dropped in an outage of the path"),
    "policer": ("over a policer's rate", "dropped by a policer because it was over the rate"),
    "held": ("in the box at the end", "still in the delay box when the record ended"),
}
UNKNOWN = ("not seen by the box", "never arrived, and the delay box has not seen it")
BEHIND = " behind the bottleneck"


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
        """From the columns of segments.parquet."""
        times = (np.where(columns[name] < 0, -1, columns[name] - origin_ns) for name in COLUMNS[1:])
        return cls(tuple(fates), columns["box_fate"], *times)

    def name(self, fate: int) -> str:
        """The name of a fate; empty for an unknown one."""
        return self.fates[fate] if fate < len(self.fates) else ""

    def sentences(self, rows: I64) -> NDArray[np.str_]:
        """For each of these segments the reason why it never arrived."""
        table = np.asarray([WORDS.get(self.name(fate), UNKNOWN)[1] for fate in range(256)])
        fates, exit_ns = taken(self.fate, rows), taken(self.exit_ns, rows)
        said = table[fates]
        behind = np.asarray([self.name(fate) in ("loss", "outage") for fate in range(256)])[fates]
        return np.asarray(np.where(behind & (exit_ns >= 0), np.char.add(said, BEHIND), said))


def label(name: str) -> str:
    """The words for a fate in a legend."""
    return WORDS.get(name, UNKNOWN)[0]
