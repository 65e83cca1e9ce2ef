"""What the limit of a gateway allows: 1.01 of it in any 100 ms, and 20 packets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

WINDOW_NS = 100_000_000
PACKET_BYTES = 1500


def most_in_a_window(t_ns: NDArray[np.int64], octets: NDArray[np.int64]) -> int:
    """Octets in the fullest 100 ms that begin with a packet."""
    total = np.concatenate(([0], np.cumsum(octets)))
    ends = np.searchsorted(t_ns, t_ns + WINDOW_NS, side="left")
    return int((total[ends] - total[:-1]).max())


def excess(t_ns: NDArray[np.int64], octets: NDArray[np.int64], limit_bps: int) -> float:
    """Packets above 1.01 x limit in the fullest window."""
    return (most_in_a_window(t_ns, octets) - 1.01 * limit_bps / 80) / PACKET_BYTES
