"""lft.unlimited: throughput without a limit, with everything on one machine, and the CPU time that a gigabyte costs.

The path has RTT 20 ms, no loss and no bottleneck. Runs alternate with plain TCP over the same path.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

import rttcp
from bench.lft_lab import ROUTER, lab
from bench.registry import Bench, Place, Result, Row

PAIRS, SECONDS, WARM_UP_S = 3, 10, 2
PATH: dict[str, int | str] = {"delay_ns": 10_000_000}
LEAST_BPS = 3e9
PLAIN = "cubic"


def _ends_cpu_s(end: rttcp.End) -> float:
    return sum(side.cpu_user_ns + side.cpu_system_ns for side in (end.sender, end.receiver)) / 1e9


def _accelerated(place: Place, seconds: int) -> tuple[float, float, float, str]:
    """Throughput in bit/s; CPU seconds per gigabyte of the gateways, and of the two applications; a note."""
    with lab(place, PATH) as made, made.gateways(*ROUTER, "--expected-rtt", "20ms", whole_frames=True):
        before = made.cpu_s()
        end = made.transfer(duration_ns=seconds * 10**9, omit_ns=WARM_UP_S * 10**9)
        used = made.cpu_s() - before
        near, far = made.show("near"), made.show("far")
    note = (
        f"lost {near['engine']['declared_lost']}, receive buffer overflows {far['io']['rx_overflows']}, "
        f"datagrams a read {far['io']['rx_datagrams'] / max(1, far['io']['rx_reads']):.0f}, "
        f"a batch {near['io']['tx_datagrams'] / max(1, near['io']['tx_batches']):.0f}"
    )
    gigabytes = end.summary.bytes / 1e9
    return end.summary.steady_bps, used / gigabytes, _ends_cpu_s(end) / gigabytes, note


def _plain(place: Place, seconds: int) -> tuple[float, float]:
    with lab(place, PATH) as made:
        end = made.transfer(PLAIN, duration_ns=seconds * 10**9, omit_ns=WARM_UP_S * 10**9)
    return end.summary.steady_bps, _ends_cpu_s(end) / (end.summary.bytes / 1e9)


def measure(place: Place) -> Iterator[Result]:
    """Medians of the pairs."""
    seconds = place.seconds or SECONDS
    ours, base, notes = [], [], []
    for number in range(1, (place.pairs or PAIRS) + 1):
        ours.append(_accelerated(place, seconds))
        base.append(_plain(place, seconds))
        notes.append(ours[-1][3])
        place.say(
            f"{number}: {ours[-1][0] / 1e9:.2f} Gbit/s, gateways {ours[-1][1]:.2f} CPU s/GB; {notes[-1]}; "
            f"plain {PLAIN} {base[-1][0] / 1e9:.2f} Gbit/s, {base[-1][1]:.2f} CPU s/GB"
        )

    def median(rows: Sequence[tuple[float, ...]], column: int) -> float:
        return statistics.median(row[column] for row in rows)

    figures = [row[:3] for row in ours]
    rows = [
        Row("end to end", "Gbit/s", median(figures, 0) / 1e9, LEAST_BPS / 1e9, math.inf, notes[-1]),
        Row("both gateways", "CPU s/GB", median(figures, 1), 0.0, math.inf),
        Row("client and server, with gateways", "CPU s/GB", median(figures, 2), 0.0, math.inf),
        Row(f"plain {PLAIN}", "Gbit/s", median(base, 0) / 1e9, 0.0, math.inf),
        Row(f"client and server, plain {PLAIN}", "CPU s/GB", median(base, 1), 0.0, math.inf),
    ]
    path = "RTT 20 ms, no loss, no limit, aes-128-gcm, router model, one session"
    method = f"{path}; medians of {len(ours)}, {seconds} s each."
    yield Result("lft.unlimited", "within bounds", None, rows=rows, method=method)


BENCH = Bench("lft.unlimited", "throughput without a limit at RTT 20 ms, and its price in CPU time", measure)
