"""A capture of short frames with exponential gaps, for a replay."""

from __future__ import annotations

from pathlib import Path

import numpy as np

OCTETS, T0_NS = 64, 10**18
_HEADER = np.frombuffer(bytes.fromhex("020000000002 020000000001 88b5") + bytes(OCTETS - 14), np.uint8)


def write(file: Path, packets: int, gap_ns: int) -> Path:
    """A nanosecond pcap of `packets` frames of 64 octets (an experimental protocol), `gap_ns` apart on average; seed
    1."""
    times = T0_NS + np.cumsum(np.random.default_rng(1).exponential(gap_ns, packets)).astype(np.int64)
    words = np.empty((packets, 4), "<u4")
    words[:, 0], words[:, 1], words[:, 2:] = times // 10**9, times % 10**9, OCTETS
    records = np.hstack([words.view(np.uint8), np.tile(_HEADER, (packets, 1))])
    head = np.array([0xA1B23C4D, 2 | 4 << 16, 0, 0, 65535, 1], "<u4")
    file.write_bytes(head.tobytes() + records.tobytes())
    return file
