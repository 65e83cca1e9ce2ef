"""lft.loss_matrix: the goodput of one session over 800 Mbit/s × 200 ms for each loss, compared with what the wire
allows.

A full frame of 1,500 octets carries 1,426 octets of the session (FORMAT.md: 28 octets of IPv4 and UDP, 34 of the frame,
12 of the chunk). That share is eta. The bound is 0.95 · limit · eta · (1 - loss). The other recoveries and plain TCP
run for comparison, for a shorter time and without a bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from bench.lft_lab import LONG_PATH, MTU, RATE_BPS, ROUTER, Lab, lab
from bench.registry import Bench, Place, Result, Row

SECONDS, SECONDS_OTHER = 120, 30
LOSSES = (0.0, 0.0001, 0.001, 0.01, 0.05, 0.1)
ETA = 1426 / 1500
RTT_S = 0.2
SHARE = 0.95
RECOVERIES = ("selective", "fec", "gbn", "gbn-strict")
PLAIN = ("bbr", "cubic")


def bound_bps(loss: float) -> float:
    """The goodput that `selective` has to reach, bit/s."""
    return SHARE * RATE_BPS * ETA * (1 - loss)


def _path(loss: float) -> dict[str, int | str]:
    return LONG_PATH | {"loss_ppb": round(loss * 1e9)}


def _row(what: str, bps: float, low: float, note: str) -> Row:
    return Row(what, "Mbit/s", bps / 1e6, low / 1e6, math.inf, note)


def _note(made: Lab, octets: int) -> str:
    state, there = made.show("near")["engine"], made.show("far")["engine"]
    return (
        f"{made.cpu_s() / (octets / 1e9):.1f} CPU s/GB, repairs {state['sent']['retransmission']['frames']}, "
        f"copies {state['sent']['redundant']['frames']}, "
        f"lost {state['declared_lost']}, spurious {state['spurious']}, timeouts {state['timeouts']}, "
        f"no memory {there['rx_no_memory']}, dropped by the box's queue {made.queue_drops()}, "
        f"by the far socket {made.show('far')['io']['rx_overflows']}"
    )


def _octets(loss: float, seconds: int) -> int:
    """The octets that textbook Go-Back-N carries in this many seconds (docs/explanation/lft-recovery.md), but at least
    a few.

    The transfer is bounded by octets, not by time: the octets that the client's kernel and the gateway accept at once
    would need minutes to arrive.
    """
    flight = RATE_BPS / 8 / MTU * RTT_S
    return round(max(50_000, RATE_BPS / 8 * ETA * (1 - loss) / (1 + loss * (flight - 1)) * seconds))


def _accelerated(place: Place, loss: float, recovery: str, seconds: int) -> Row:
    options = ("--rate", f"{RATE_BPS}bit", "--recovery", recovery)
    with lab(place, _path(loss)) as made, made.gateways(*ROUTER, *options, whole_frames=True):
        if recovery == "gbn-strict" and loss:
            end = made.transfer(bytes=_octets(loss, seconds))
        else:
            end = made.transfer(duration_ns=seconds * 10**9)
        note = _note(made, end.summary.bytes)
    low = bound_bps(loss) if recovery == "selective" else 0.0
    return _row(f"{recovery} {loss:.4%}", end.summary.short_term_bps, low, note)


def _plain(place: Place, loss: float, congestion: str, seconds: int) -> Row:
    with lab(place, _path(loss)) as made:
        end = made.transfer(congestion, duration_ns=seconds * 10**9)
    note = f"{end.summary.retransmits} retransmits"
    return _row(f"plain {congestion} {loss:.4%}", end.summary.short_term_bps, 0.0, note)


def measure(place: Place) -> Iterator[Result]:
    """One result with all rows."""
    seconds = place.seconds or SECONDS
    others = min(seconds, SECONDS_OTHER)
    rows = []
    for recovery in RECOVERIES:
        for loss in LOSSES:
            rows.append(_accelerated(place, loss, recovery, seconds if recovery == "selective" else others))
            place.say(f"{rows[-1].what}: {rows[-1].measured:.1f} Mbit/s of {rows[-1].low:.1f}; {rows[-1].note}")
    for congestion in PLAIN:
        for loss in LOSSES:
            rows.append(_plain(place, loss, congestion, others))
            place.say(f"{rows[-1].what}: {rows[-1].measured:.1f} Mbit/s; {rows[-1].note}")
    method = (
        "800 Mbit/s of IP packets, RTT 200 ms, queue 4 MB, MTU 1500, limit 800 Mbit/s, aes-128-gcm, router model, one "
        f"session: goodput from connect to last byte, {seconds} s (`selective`) and {others} s."
    )
    yield Result("lft.loss_matrix", "within bounds", None, rows=rows, method=method, extra={"seconds": seconds})


BENCH = Bench("lft.loss_matrix", "goodput of an LFT session by loss and recovery, 800 Mbit/s x 200 ms", measure)
