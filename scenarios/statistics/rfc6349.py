"""RFC 6349's three metrics of a TCP throughput test (section 4).

| column | definition here |
|---|---|
| transfer_time_ratio | time taken / ideal time, which the same bytes take in full segments at the slowest rate |
| tcp_efficiency | (bytes sent - bytes sent again) / bytes sent, as the sender's kernel counts them |
| buffer_delay | (mean RTT during the transfer - baseline) / baseline, which is the RTT of the empty path |

The RFC gives the last two as percentages; these are ratios, like all columns without a unit. A path without a rate, or
with a rate trace, has no ideal time. A path without delay has no baseline. In both cases the column is null. Where the
path's rate changes, the ideal time follows the rate at each moment since the transfer's beginning (null if the
beginning is unknown). A policer in front of the path's rate lets its burst pass at that rate, and then no more than its
own rate: a token bucket that is full when the transfer begins. How much passes a policer that marks packets instead of
dropping them is unknown, so the column is null. Where the path's delay changes, the baseline is the mean of its values
at the samples' times. The mean RTT is the mean of the sender's samples of its smoothed RTT. Behind gateways the
sender's TCP ends at the near one, so only the first column says something about the path there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from scenarios.statistics import line

_IP_TCP = {"ipv4": 40, "ipv6": 60}  # octets of the two headers
_TIMESTAMPS = 12
_TCPI_OPT_TIMESTAMPS = 1


def transfer_time_ratio(
    params: Mapping[str, Any], summary: Mapping[str, Any], began_ns: int | None = None, *, timestamps: bool = True
) -> float | None:
    """``transfer_time_ratio`` of one flow; None where it is unknown. ``began_ns``: the flow's beginning, counted from
    the box's start. ``timestamps``: whether its segments had TCP time stamps."""
    share = payload_share(params, timestamps=timestamps)
    ideal, taken = _ideal_ns(params, summary.get("bytes") or 0, began_ns, share), summary.get("elapsed_ns")
    return taken / ideal if taken and ideal else None


def tcp_efficiency(info: Mapping[str, Any]) -> float | None:
    """``tcp_efficiency`` of one flow by the TCP_INFO of its sender; None if that lacks the counts."""
    sent, again = info.get("bytes_sent"), info.get("bytes_retrans")
    return (sent - again) / sent if sent and again is not None else None


def _ideal_ns(params: Mapping[str, Any], octets: int, began_ns: int | None, share: float) -> float | None:
    """The time that this many bytes of a stream take at the path's rates. ``share``: `payload_share`."""
    stages = line.stages(params)
    if not octets or params.get("request_bytes") or (len(stages) > 1 and began_ns is None):
        return None
    bits, took_ns, lacks = octets * 8 / share, 0.0, 0.0
    for stage, until_ns in zip(stages, [*(one.since_ns for one in stages[1:]), math.inf], strict=True):
        lasts_ns = until_ns - max(stage.since_ns, began_ns or 0)
        if lasts_ns <= 0:
            continue
        for bps, most_ns, filling_bps in _passes(stage, lacks):
            if not bps:
                return None
            within_ns = min(most_ns, lasts_ns)
            if bits * 1e9 <= bps * within_ns:
                return took_ns + bits * 1e9 / bps
            bits -= bps * within_ns / 1e9
            lacks = max(0.0, lacks - filling_bps * within_ns / 1e9)
            took_ns += within_ns
            lasts_ns -= within_ns
    return None


def _passes(stage: line.Stage, lacks: float) -> list[tuple[float, float, float]]:
    """The rates at which bits pass in a stage, one after the other. Each has its bit/s (0: unknown), how many ns it
    lasts at most, and at how many bit/s the policer's bucket fills meanwhile. ``lacks``: bits missing in the bucket at
    the beginning."""
    policer, bps = stage.policer, stage.rate_bps
    if policer is None:
        return [(bps, math.inf, 0.0)]
    if policer.marks or not bps:
        return [(0.0, math.inf, 0.0)]
    left, own = max(0.0, policer.burst_bytes * 8 - lacks), policer.rate_bps
    if bps <= own:
        return [(bps, math.inf, own - bps)]
    return [(bps, left * 1e9 / (bps - own), own - bps), (own, math.inf, 0.0)]


def most_bps(params: Mapping[str, Any]) -> float | None:
    """The rate at which a path can carry a stream's bytes for ever, in full segments without a pause; None for a path
    without a rate, and for one whose rate changes."""
    rates = {_passes(stage, 0.0)[-1][0] for stage in line.stages(params)}
    return rates.pop() * payload_share(params) if len(rates) == 1 and all(rates) else None


def timestamps_of(end: Mapping[str, Any], *, otherwise: bool) -> bool:
    """Whether a flow's segments had time stamps, by its sender's TCP_INFO; ``otherwise`` where that is not there."""
    options = ((end.get("sender") or {}).get("tcp_info") or {}).get("options")
    return otherwise if options is None else bool(int(options) & _TCPI_OPT_TIMESTAMPS)


def payload_share(params: Mapping[str, Any], *, timestamps: bool = True) -> float:
    """The share of a line's rate that full segments leave for a stream's bytes, 0 … 1."""
    mtu, headers = params.get("mtu") or 1500, _IP_TCP[params.get("family") or "ipv4"] + _TIMESTAMPS * timestamps
    return float((mtu - headers) / (mtu + line.ON_THE_WIRE.get(str(params.get("framing")), 0)))


def buffer_delay(baseline_ns: float | None, mean_ns: float | None) -> float | None:
    """``buffer_delay`` of one flow; None without samples, or on a path without delay."""
    return (mean_ns - baseline_ns) / baseline_ns if mean_ns is not None and baseline_ns else None
