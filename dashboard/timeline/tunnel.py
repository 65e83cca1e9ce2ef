"""Frames between a pair of gateways, in both directions: when they crossed either gateway's interface, how large they
were, and which of them the path dropped. Their content is encrypted; their sizes and times are not.

They come from tunnel.parquet (captures at the gateways' outer interfaces). Without it they come from the delay box's
record, which has the same frames as wire packets, one router further in.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dashboard.core.series import I64
from dashboard.timeline.stream import Stream
from netcommon import trial_tables

NEAR, FAR = 0, 1  # points
FORTH, BACK = 0, 1  # directions: as the sender's data goes, and against it
NOT_TCP = 2**32 - 1
PLACES = tuple((point, way) for way in (FORTH, BACK) for point in (NEAR, FAR))


@dataclass(frozen=True)
class Tunnel:
    """Streams by (point, direction), and drops in order of time with their direction and the name of their fate. Times
    are ns from the origin."""

    streams: dict[tuple[int, int], Stream]
    drop_ns: I64
    drop_way: NDArray[np.uint8]
    drop_fate: NDArray[np.str_]


def load(trial: Path, origin_ns: int) -> Tunnel | None:
    """The tunnel of a trial's folder; None when nothing of it was captured."""
    frames, record = trial / "tunnel.parquet", trial / "box.parquet"
    drops = _drops(record, origin_ns) if record.is_file() else _NO_DROPS
    if frames.is_file():
        return Tunnel(_of_captures(frames, origin_ns), *drops)
    return Tunnel(_of_record(record, origin_ns), *drops) if record.is_file() else None


def _of_captures(path: Path, origin_ns: int) -> dict[tuple[int, int], Stream]:
    table = trial_tables.read(path, ["t_ns", "bytes", "point", "dir"])
    t, size, point, way = (table[name].to_numpy() for name in ("t_ns", "bytes", "point", "dir"))
    return {place: _stream(t, size, (point == place[0]) & (way == place[1]), origin_ns) for place in PLACES}


def _of_record(path: Path, origin_ns: int) -> dict[tuple[int, int], Stream]:
    """Streams from the box's record. Frames from a to b arrive on the near side and leave on the far side."""
    names = ["direction", "t_arrival_ns", "t_release_ns", "wire_len", "copy"]
    table = trial_tables.read(path, names)
    way, came, left, size, copy = (table[name].to_numpy() for name in names)
    found = {}
    for point, direction in PLACES:
        entering = (point == NEAR) == (direction == FORTH)
        t = came if entering else left
        own = (way == direction) & (t >= 0) & ((copy == 0) | (not entering))
        found[point, direction] = _stream(t, size, own, origin_ns)
    return found


def _stream(t: I64, size: NDArray[np.uint32], own: NDArray[np.bool_], origin_ns: int) -> Stream:
    order = np.argsort(t[own], kind="stable")
    return Stream.of(t[own][order] - origin_ns, size[own][order])


Drops = tuple[I64, NDArray[np.uint8], NDArray[np.str_]]
_NO_DROPS: Drops = (np.zeros(0, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.str_))


def _drops(path: Path, origin_ns: int) -> Drops:
    """The dropped frames of the tunnel in a box's record."""
    names = ["direction", "fate", "t_drop_ns", "flow"]
    table = trial_tables.read(path, names, filters=[("t_drop_ns", ">=", 0), ("flow", "==", NOT_TCP)])
    fates = np.asarray([*trial_tables.described(table, "pktlogger.record").get("fates", []), "unknown"])
    way, fate, t, _ = (table[name].to_numpy() for name in names)
    order = np.argsort(t, kind="stable")
    return t[order] - origin_ns, way[order], fates[np.minimum(fate, fates.size - 1)][order]
