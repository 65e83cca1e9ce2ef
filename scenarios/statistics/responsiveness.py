"""Responsiveness under working conditions, in round trips a minute (RPM): the IETF's draft-ietf-ippm-responsiveness,
with the test parameters, the trimmed means and the aggregation of its case without TLS.

A trial gives the latencies of exchanges of request and response that run next to the load (the draft's `http_f`) and
the smoothed RTTs that the load's own senders measured, which the draft allows where probes cannot be multiplexed into
the load (`http_l`). docs/reference/responsiveness.md lists where a trial differs from the draft. For example, the
probes keep one connection, so there is no `tcp_f`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
MINUTE_NS = 60 * 10**9
INTERVAL_NS = 10**9  # ID: how often the test evaluates
DISTANCE = 4  # MAD: intervals of a moving average
KEPT = 0.95  # TMP: the share of the smallest values that a trimmed mean keeps
TOLERANCE = 0.05  # SDT: largest standard deviation of a stable value, as a share of the average
Timed = tuple[I64, I64]  # ascending times of measurement, ns; the measured values, ns


def trimmed_mean(values: NDArray[Any]) -> float | None:
    """The mean of the smallest 95 % of the values; None without values."""
    if not values.size:
        return None
    return float(np.sort(values)[: max(int(KEPT * values.size), 1)].mean())


def of(exchanges: Timed, trips: Timed, octets: Sequence[F64], begin_ns: int, end_ns: int) -> dict[str, Any]:
    """The columns. ``exchanges``: latencies by the time of their end; ``trips``: smoothed RTTs of the load, empty where
    they are not RTTs of the whole path; ``octets``: for each load flow what had arrived at ``begin_ns`` and after each
    interval. ``responsiveness_rpm`` belongs to the first interval at which goodput and then responsiveness are stable
    (confidence high). Without such an interval it belongs to the last one (confidence medium, or low with fewer
    intervals than a moving average has). Empty where no exchange ended in any of them."""
    intervals = int((end_ns - begin_ns) // INTERVAL_NS)
    each = [_at(exchanges, trips, begin_ns, number + 1) for number in range(intervals)]
    if not each or each[-1][0] is None:
        return {}
    goodput = np.sum([np.diff(one[: intervals + 1]) for one in octets], axis=0) if octets else np.zeros(intervals)
    found = next((number for number in range(intervals) if _stable(each, goodput, number)), None)
    confidence = "high" if found is not None else "medium" if intervals >= DISTANCE else "low"
    foreign, loaded = each[intervals - 1 if found is None else found]
    both = None if foreign is None or loaded is None else (foreign + loaded) / 2
    return {
        "responsiveness_rpm": both,
        "responsiveness_foreign_rpm": foreign,
        "responsiveness_loaded_rpm": loaded,
        "responsiveness_confidence": confidence,
    }


def _at(exchanges: Timed, trips: Timed, begin_ns: int, number: int) -> tuple[float | None, float | None]:
    """Both responsivenesses at the end of an interval, over the intervals of the moving average that ends there."""
    until = begin_ns + number * INTERVAL_NS
    since = max(begin_ns, until - DISTANCE * INTERVAL_NS)
    means = [
        trimmed_mean(values[np.searchsorted(t, since) : np.searchsorted(t, until)]) for t, values in (exchanges, trips)
    ]
    foreign, loaded = (MINUTE_NS / mean if mean else None for mean in means)
    return foreign, loaded


def _stable(each: Sequence[tuple[float | None, float | None]], goodput: F64, number: int) -> bool:
    """Whether the goodput has been stable at this interval or before it, and responsiveness is stable now: DISTANCE
    consecutive moving averages are within the tolerance."""
    if number < 2 * DISTANCE - 2:
        return False
    averages = np.convolve(goodput, np.full(DISTANCE, 1 / DISTANCE), "valid")  # the first is of interval DISTANCE - 1
    saturated = any(
        _within(averages[k - 2 * DISTANCE + 2 : k - DISTANCE + 2]) for k in range(2 * DISTANCE - 2, number + 1)
    )
    last = [sum(value for value in one if value is not None) for one in each[number - DISTANCE + 1 : number + 1]]
    return saturated and _within(np.asarray(last))


def _within(averages: F64) -> bool:
    return bool(averages.size == DISTANCE and averages.std() < TOLERANCE * averages[-1])
