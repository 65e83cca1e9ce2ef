"""What the limit of a gateway allows at the wire (lft_ref/FORMAT.md): rate x T plus a burst in every interval T."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PACKET_BYTES = 1500
BURST_S = 1e-3  # of --rate-burst, by default
LEAST_PACKETS = 8


def burst_bytes(limit_bps: int, burst_s: float = BURST_S) -> float:
    """The burst: octets that may leave at once."""
    return max(limit_bps / 8 * burst_s, LEAST_PACKETS * PACKET_BYTES)


def most_above(t_ns: NDArray[np.int64], octets: NDArray[np.int64], limit_bps: float) -> float:
    """Octets above limit x length in the worst of all intervals, which begin and end with a packet."""
    drained = np.diff(t_ns, prepend=t_ns[0]) * (limit_bps / 8e9)
    level = np.cumsum(octets - drained)
    before = np.concatenate(([0.0], level[:-1])) - drained
    return float((level - np.minimum.accumulate(before)).max())


def most_in_a_window(t_ns: NDArray[np.int64], octets: NDArray[np.int64], window_ns: int = 100_000_000) -> int:
    """Octets in the fullest 100 ms that begin with a packet."""
    total = np.concatenate(([0], np.cumsum(octets)))
    ends = np.searchsorted(t_ns, t_ns + window_ns, side="left")
    return int((total[ends] - total[:-1]).max())
