"""A timeline from the capture of one end, although timelines need the times of both ends.

At the sender nobody saw the packets arrive, so `UNKNOWN` stands for the time of arrival, and the lost packets are those
of losses.parquet, which is inferred from the acknowledgements. At the receiver nobody saw the packets leave, so they
are drawn when they arrived, and acknowledgements when they were sent. Rejected: times computed from half the round
trip, which a reader would take for measured ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from netcommon import trial_tables

LOST, UNKNOWN = -1, -2  # times of arrival: never arrived, not known
BOTH, SENDER, RECEIVER = "both", "sender", "receiver"  # `ends` of a flow in summary.json
NOTES = {
    SENDER: "Captured at the sender alone: arrival times are unknown, and a packet counts as lost if the "
    "acknowledgements show it.",
    RECEIVER: "Captured at the receiver alone: packets are drawn at their arrival and acknowledgements when they "
    "were sent. The sender's times, round trips and window are unknown.",
}
Columns = dict[str, NDArray[Any]]


def completed(ends: str, seg: Columns, ack: Columns, losses: Path, flow: int) -> None:
    """Replaces the times that one end does not show. `losses`: losses.parquet of the leg."""
    if ends == RECEIVER:
        seg["t_sent_ns"] = seg["t_received_ns"]
        ack["t_received_ns"] = ack["t_sent_ns"]
    elif ends == SENDER:
        lost = _among(seg, losses, flow)
        seg["t_received_ns"] = np.where(lost, LOST, UNKNOWN)
        ack["t_sent_ns"] = ack["t_received_ns"]


def _among(seg: Columns, losses: Path, flow: int) -> NDArray[np.bool_]:
    """For each segment, whether the table of losses has it."""
    if not losses.is_file():
        return np.zeros(seg["seq"].size, bool)
    table = trial_tables.read(losses, ["flow", "t_sent_ns", "seq"])
    table = table.filter(pc.equal(table["flow"], flow))
    keys = [_keys(table["t_sent_ns"].to_numpy(), table["seq"].to_numpy()), _keys(seg["t_sent_ns"], seg["seq"])]
    return np.isin(keys[1], keys[0])


def _keys(t_ns: NDArray[Any], seq: NDArray[Any]) -> NDArray[Any]:
    found = np.empty(t_ns.size, [("t", np.int64), ("seq", np.int64)])
    found["t"], found["seq"] = t_ns, seq.astype(np.int64)
    return found
