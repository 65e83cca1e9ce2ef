"""Packets with the kernel's time stamps at NICs: pktlogger captures them, and numpy reads the file.

Every packet that a bench looks at is longer than the snapshot. So all packet blocks of the pcapng file have the same
length, and the file is an array. This is checked, not assumed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.registry import Place
from netcommon.binaries import find
from netcommon.errors import LfpError
from netcommon.process import Tool
from scenarios.network.host_pair import NIC

SNAP = 64
_PACKET, _STATISTICS, _HEADER, _TRAILER = 6, 5, 28, 4


@dataclass(frozen=True)
class Packets:
    """Captured packets in order: CLOCK_REALTIME ns, bytes on the interface (super-packets as one), first SNAP bytes."""

    t_ns: NDArray[np.int64]
    length: NDArray[np.int64]
    data: NDArray[np.uint8]

    def number_at(self, offset: int) -> NDArray[np.int64]:
        """The big-endian 32-bit number at this byte of every packet."""
        return np.ascontiguousarray(self.data[:, offset : offset + 4]).view(">u4").ravel().astype(np.int64)


def read(path: Path) -> Packets:
    """Reads a capture all of whose packets were longer than SNAP. Raises LfpError when one was not."""
    raw = np.fromfile(path, dtype=np.uint8)
    at = 0
    while at + 12 <= raw.size and _word(raw, at) not in (_PACKET, _STATISTICS):
        at += _word(raw, at + 4)
    size = _HEADER + SNAP + _TRAILER
    blocks = raw[at : at + (raw.size - at) // size * size].reshape(-1, size)
    words = np.ascontiguousarray(blocks[:, :_HEADER]).view("<u4")
    ours = (words[:, 0] == _PACKET) & (words[:, 1] == size)
    count = len(ours) if ours.all() else int(np.argmin(ours))
    rest = at + count * size
    if rest + 12 <= raw.size and _word(raw, rest) != _STATISTICS:
        raise LfpError(f"{path.name}: packet {count + 1} is shorter than {SNAP} bytes")
    words = words[:count].astype(np.int64)
    return Packets((words[:, 3] << 32) | words[:, 4], words[:, 6], blocks[:count, _HEADER : _HEADER + SNAP])


def _word(raw: NDArray[np.uint8], at: int) -> int:
    return int.from_bytes(raw[at : at + 4].tobytes(), "little")


@dataclass
class Capture:
    """A capture's packets for each point, in the order of the points. It is filled when the capture has ended."""

    points: list[Packets] = field(default_factory=list)


@contextlib.contextmanager
def captured(place: Place, pids: Sequence[int], expression: str) -> Iterator[Capture]:
    """Captures at the NICs of these namespaces inside the block. LfpError when the capture missed a packet, because the
    figures would be wrong."""
    files = [place.scratch / f"point-{number}.pcapng" for number in range(len(pids))]
    argv = [str(find("pktlogger")), "capture", "--filter", expression, "--snap", str(SNAP), "--buffer", "256MB"]
    for pid, file in zip(pids, files, strict=True):
        argv += ["--interface", f"{NIC}@{pid}", "--write", str(file)]
    capture = Capture()
    with Tool(argv, name="pktlogger", ledger=place.ledger) as tool:
        tool.wait_event("ready", 10)
        yield capture
        end = tool.stop(30) or {"points": []}
    missed = sum(value for point in end["points"] for name, value in point.items() if name.startswith("dropped_"))
    if missed or len(end["points"]) != len(files):
        raise LfpError(f"pktlogger: missed {missed} packets; close other programs and measure again")
    capture.points = [read(file) for file in files]
    for file in files:
        file.unlink()
