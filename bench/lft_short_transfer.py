"""lft.short_transfer: 20 MB at 0.1 % loss compared with BBR, and small requests during a bulk session.

A request is 100 KB that are sent and that the receiving application confirms. It takes at most three round trips, and
one more for its connect. The path has 800 Mbit/s and RTT 200 ms.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator

import rttcp
from bench.lft_lab import LONG_PATH, RATE_BPS, ROUTER, Lab, lab
from bench.registry import Bench, Place, Result, Row
from netcommon.process import Tool

TRANSFERS, BYTES, REQUEST_BYTES = 20, 20_000_000, 100_000
RTT_S = 0.2
BULK_PORT, BULK_SECONDS, BULK_WARM_UP_S = 5310, 120, 3.0
PATH = LONG_PATH | {"loss_ppb": 1_000_000}
OPTIONS = (*ROUTER, "--rate", f"{RATE_BPS}bit")


def _seconds(end: rttcp.End) -> float:
    """The time from connect to the confirmation of the last byte."""
    return end.summary.bytes * 8 / end.summary.short_term_bps


def _repeat(made: Lab, congestion: str, count: int, octets: int) -> list[float]:
    return [_seconds(made.transfer(congestion, bytes=octets)) for _ in range(count)]


def _requests_beside_bulk(place: Place, count: int) -> list[float]:
    """The seconds that each request takes while a bulk session keeps the line full."""
    with lab(place, PATH) as made, made.gateways(*OPTIONS, whole_frames=True):
        bulk = made.transferring(port=BULK_PORT, duration_ns=BULK_SECONDS * 10**9)
        with bulk as sender:
            _wait_intervals(sender, BULK_WARM_UP_S)
            return _repeat(made, "cubic", count, REQUEST_BYTES)


def _wait_intervals(sender: Tool, seconds: float) -> None:
    """Waits until the bulk session has reported intervals for this many seconds."""
    for _ in range(round(seconds)):
        sender.wait_event("interval", 30.0)


def measure(place: Place) -> Iterator[Result]:
    """Medians. ``pairs`` is the number of transfers of each kind."""
    count = place.pairs or TRANSFERS
    with lab(place, PATH) as made, made.gateways(*OPTIONS, whole_frames=True):
        ours = _repeat(made, "cubic", count, BYTES)
    with lab(place, PATH) as made:
        base = _repeat(made, "bbr", count, BYTES)
    requests = _requests_beside_bulk(place, count)
    fast, slow, request = (statistics.median(times) for times in (ours, base, requests))
    place.say(f"20 MB: {fast:.2f} s, BBR {slow:.2f} s; a request of 100 KB during bulk: {request:.2f} s")
    spread = f"{min(requests):.2f} to {max(requests):.2f} s"
    rows = [
        Row("20 MB, 0.1 % loss, share of BBR's time", "ratio", fast / slow, 0.0, 0.5, f"{fast:.2f} s of {slow:.2f} s"),
        Row("100 KB during a bulk session", "s", request, 0.0, 4 * RTT_S, spread),
        Row("20 MB at line rate and two round trips", "s", BYTES * 8 / RATE_BPS + 2 * RTT_S, 0.0, math.inf),
    ]
    method = f"800 Mbit/s of IP packets, RTT 200 ms, loss 0.1 %, queue 4 MB; medians of {count}, connect to last byte."
    yield Result("lft.short_transfer", "within bounds", None, rows=rows, method=method)


BENCH = Bench("lft.short_transfer", "20 MB against BBR at 0.1 % loss; small requests during a bulk session", measure)
