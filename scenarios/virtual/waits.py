"""Reads the guest kernel's records of why TCP senders sent nothing more at each moment.

The kernel writes a record each time that a sender stops, gets an acknowledgement or changes its state
(patches/7/why-tcp-waits.patch). Writing takes no time in the guest, so a trial is the same with and without it. The
file is read whole; it has 56 MiB at most.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FILE = "waits.bin"  # file in a trial's folder


class Why(IntEnum):
    """The reason why a sender waits. SAME: the previous reason. EMPTY: all data that it was given are sent."""

    SAME, EMPTY, PACING, CWND, WINDOW, NAGLE, DEFER, HOST, END = range(9)


class State(IntEnum):
    """States of the kernel's congestion control (`tcp_ca_state`)."""

    OPEN, DISORDER, CWR, RECOVERY, LOSS = range(5)


class Flag(IntFlag):
    """BLOCKED: a writer waits for room in the send buffer. BY_PROGRAM: the pacing rate is the program's limit."""

    BLOCKED, BY_PROGRAM, PACED = 1, 2, 4


# `t_ns`: on the captures' clock. `local`: the last four octets of the sender's address. `una`, `next`: sequence
# numbers. `unsent`, `room`: octets that wait, and for which the peer's window has room. `flight`, `cwnd`, `ssthresh`:
# packets.
RECORD = np.dtype([
    ("t_ns", "<u8"), ("local", ">u4"), ("local_port", "<u2"), ("remote_port", "<u2"), ("why", "u1"), ("state", "u1"),
    ("flags", "u1"), ("none", "u1"), ("mss", "<u4"), ("una", "<u4"), ("next", "<u4"), ("unsent", "<u4"),
    ("room", "<u4"), ("flight", "<u4"), ("cwnd", "<u4"), ("ssthresh", "<u4"), ("rtt_us", "<u4"),
])  # fmt: skip
Records = NDArray[Any]
Places = tuple[NDArray[np.int64], NDArray[np.int64]]  # times, and a number at each


def load(path: Path) -> Records | None:
    """The records of a file; None if the file is missing or incomplete: a kernel before Linux 7 writes none, and a
    newer one stops writing at the file's greatest size."""
    if not path.exists() or path.stat().st_size % RECORD.itemsize:
        return None
    records: Records = np.fromfile(path, RECORD)
    return records[:-1] if records.size and records["why"][-1] == Why.END else None


def of_connection(records: Records, local: bytes, local_port: int, remote_port: int) -> Records:
    """The records of one sender. ``local``: its address."""
    mine: Records = records[
        (records["local"] == int.from_bytes(local[-4:], "big"))
        & (records["local_port"] == local_port)
        & (records["remote_port"] == remote_port)
    ]
    return mine


def of_capture(records: Records, isn: int, acked: Places, sent: Places) -> Records:
    """The records of the socket whose packets were captured, out of all records with the same addresses and ports: a
    gateway of the router model has another socket with these, and with similar sequence numbers. ``isn``: the captured
    sender's initial sequence number. ``acked``: times and relative numbers of the acknowledgements that came back;
    ``sent``: times and relative numbers of the data that left."""
    t_ns, first = records["t_ns"].astype(np.int64), np.uint32(isn)
    una, reached = ((records[name] - first).view(np.int32).astype(np.int64) for name in ("una", "next"))
    own: Records = records[_is_at(t_ns, una, *acked) & _is_at(t_ns, reached, *sent)]
    return own


def _is_at(t_ns: NDArray[np.int64], number: NDArray[np.int64], then_ns: Any, numbers: Any) -> NDArray[np.bool_]:
    """Whether each number is the highest captured one at its time, or one more, because a FIN counts although it has no
    octet."""
    order = np.argsort(then_ns, kind="stable")
    upto = np.append(1, np.maximum.accumulate(numbers[order].astype(np.int64)))
    low, high = (upto[np.searchsorted(then_ns[order], t_ns, side)] for side in ("left", "right"))
    found: NDArray[np.bool_] = (low <= number) & (number <= high + 1)
    return found
