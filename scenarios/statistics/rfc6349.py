"""RFC 6349's three metrics of a TCP throughput test (section 4).

| column | definition here |
|---|---|
| transfer_time_ratio | time taken / ideal time: that of the same bytes, in full segments, at the path's slowest rate |
| tcp_efficiency | (bytes sent - bytes sent again) / bytes sent, as the sender's kernel counts them |
| buffer_delay | (mean RTT during the transfer - baseline) / baseline, which is the RTT of the empty path |

The RFC gives the last two as percentages; these are ratios, as all columns without a unit. A path without a rate, or
with a rate trace, has no ideal time, one without delay no baseline. In both cases the column is null. Where the path's
rate changes, the ideal time is that at the rate of each moment from when the transfer began (null where nobody knows
when). Where its delay changes, the baseline is the mean of what it was at the samples' times. The mean is of the
sender's samples of its smoothed RTT. Behind gateways the sender's TCP ends at the near one, so only the first column
says something about the path there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from scenarios.statistics import line

_IP_TCP = {"ipv4": 40, "ipv6": 60}  # octets of the two headers
_TIMESTAMPS = 12
_TCPI_OPT_TIMESTAMPS = 1


def transfer_time_ratio(
    params: Mapping[str, Any], summary: Mapping[str, Any], began_ns: int | None = None, *, timestamps: bool = True
) -> float | None:
    """``transfer_time_ratio`` of one flow; None where it cannot be said. ``began_ns``: when it began, since the box
    did. ``timestamps``: whether its segments had TCP's."""
    share = payload_share(params, timestamps=timestamps)
    ideal, taken = _ideal_ns(params, summary.get("bytes") or 0, began_ns, share), summary.get("elapsed_ns")
    return taken / ideal if taken and ideal else None


def tcp_efficiency(info: Mapping[str, Any]) -> float | None:
    """``tcp_efficiency`` of one flow by the TCP_INFO of its sender; None where that has no such counts."""
    sent, again = info.get("bytes_sent"), info.get("bytes_retrans")
    return (sent - again) / sent if sent and again is not None else None


def _ideal_ns(params: Mapping[str, Any], octets: int, began_ns: int | None, share: float) -> float | None:
    """The time that so many bytes of a stream take at the path's rates. ``share``: `payload_share`."""
    steps = line.rates(params)
    if not octets or params.get("request_bytes") or (len(steps) > 1 and began_ns is None):
        return None
    bits, took_ns = octets * 8 / share, 0.0
    for (since_ns, bps), (until_ns, _) in pairwise([*steps, (math.inf, 0.0)]):
        lasts_ns = until_ns - max(since_ns, began_ns or 0)
        if lasts_ns <= 0:
            continue
        if not bps:
            return None
        if bits * 1e9 <= bps * lasts_ns:
            return took_ns + bits * 1e9 / bps
        bits -= bps * lasts_ns / 1e9
        took_ns += lasts_ns
    return None


def most_bps(params: Mapping[str, Any]) -> float | None:
    """What a path carries of a stream's bytes, in full segments and without a pause; None for a path without a rate,
    and for one whose rate changes."""
    rates = {bps for _, bps in line.rates(params)}
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
