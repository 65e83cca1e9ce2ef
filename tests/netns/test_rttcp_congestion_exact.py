"""rttcp's congestion controls in virtual time: window over acknowledged segments against the algorithm's equation.

The guest's kernel has them as modules of the same source as the BPF programs. Nobody wakes up late there, so each
sample is where it should be and the bounds are those of the algorithms' own rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
import pytest
from congestion_lab import MTU_PAYLOAD, Curve, columns, stopped_share_of_a_sender_that_pauses
from support.virtual import in_virtual_time, virtual

pytestmark = [pytest.mark.netns, *virtual]

LOSSES = "packets:2000,20000"  # the first ends slow start, the second comes in congestion avoidance
PATH: dict[str, Any] = {"delay": "20ms", "ab_loss": LOSSES}


def transfer(congestion: str, duration: str = "2.5s", *, offload: bool = True, **path: str) -> Curve:
    """The curve of a transfer. ``congestion`` is NAME or NAME:KEY=VALUE,…"""
    path |= {"spin": "0", "poll": "500us", "granularity": "100us"}  # fewer wake-ups, which cost most of the wall time
    found = in_virtual_time(columns, congestion=congestion, duration=duration, path=path, offload=offload)
    return Curve.of(found)


def follows(
    curve: Curve, start: int, growth: Callable[[float, float], float], tolerance: float = 0.03, up_to: float = np.inf
) -> None:
    """Checks the window from sample ``start`` until it exceeds ``up_to``. Each acknowledged segment must add
    growth(window, seconds since ``start``) / window."""
    window = float(curve.cwnd[start])
    model = [window]
    end = start + int(np.append(curve.cwnd[start:] > up_to, True).argmax())
    for i in range(start, end - 1):
        left = int(curve.delivered[i + 1] - curve.delivered[i])
        while left > 0:  # one ACK for every two segments, even if several lie between two samples
            window += min(left, 2) * growth(window, curve.t_s[i] - curve.t_s[start]) / window
            left -= 2
        model.append(window)
    assert curve.open[start:end].all(), "an unexpected loss"
    error = np.abs(curve.cwnd[start:end] / np.array(model) - 1)
    assert error.max() < tolerance, f"window off by {error.max():.1%} of {model[int(error.argmax())]:.0f}"


def test_scalable_adds_a_hundredth_and_keeps_seven_eighths() -> None:
    curve = transfer("lfp_scalable", **PATH)
    assert abs(curve.kept(1) - 7 / 8) < 0.01
    follows(curve, curve.losses()[1][1] + 1, lambda w, _: max(0.01 * w, 1))


def b(w: float) -> float:
    """RFC 3649, section 5."""
    return -0.4 * (log(w) - log(38)) / (log(83000) - log(38)) + 0.5


def test_hstcp_grows_by_a_and_gives_up_b() -> None:
    curve = transfer("lfp_hstcp:per_segment=1", **PATH)
    before, after = curve.losses()[1]
    assert (
        abs(1 - curve.kept(1) - b(float(curve.cwnd[before]))) < 0.02
    )  # the table's b is rounded, and its rows are steps
    # the table rounds a(w) up to a whole number, which adds half a segment a round trip on average, and at most one
    follows(curve, after + 1, lambda w, _: w * w * 0.078 / w**1.2 * 2 * b(w) / (2 - b(w)) + 0.5, tolerance=0.04)


def test_htcp_grows_with_the_time_since_the_loss() -> None:
    curve = transfer("lfp_htcp:beta_max=0.5", "4s", **PATH)  # beta is 0.5, whatever the round-trip times
    before, after = curve.losses()[1]
    assert abs(curve.kept(1) - 0.5) < 0.01

    def alpha(_: float, since_s: float) -> float:
        over = max(since_s + curve.t_s[after + 1] - curve.t_s[before] - 1, 0)
        return float(1 + 10 * over + over * over / 4)

    follows(curve, after + 1, alpha)


def test_cpeak_grows_slow_fast_slow_fast_around_the_last_window() -> None:
    curve = transfer("lfp_cpeak", "1.5s", offload=False, delay="10ms", ab_loss="packets:1000,8000")
    _, after = curve.losses()[1]
    peak = 2.0 * curve.ssthresh[after]
    assert abs(curve.kept(1) - 0.5) < 0.03  # beyond the peak the window grows fast, and changes between two samples

    # Near c_peak/2 the growth multiplies the window's distance from it, so start where half a segment no longer
    # matters. The bound follows from samples in whole segments: the error of the window at the start, at most one
    # segment, grows with the curve, 2.3 times up to 0.7 of the peak, and an error of the peak by one segment shifts the
    # curve by the same share. At peaks over 200 these are 2.3 of 140 and 1 of 200 segments. ACKs for two segments add
    # 1/200.
    start = after + int(np.flatnonzero(curve.cwnd[after:] > 0.52 * peak)[0])
    follows(curve, start, lambda w, _: abs(w - peak / 2) / w * abs(peak - w) / w * peak / 2 + 1, up_to=1.5 * peak)

    segments, window = curve.delivered[after:], curve.cwnd[after:] / peak
    assert window[-1] > 1.4, "the window did not get beyond the peak"
    per_window = np.interp([0.505, 0.52, 0.6, 0.8, 0.95, 1.0, 1.2, 1.4], window, segments)
    slow, fast, flat, beyond = (
        (high - low) / (per_window[2 * i + 1] - per_window[2 * i])
        for i, (low, high) in enumerate([(0.505, 0.52), (0.6, 0.8), (0.95, 1.0), (1.2, 1.4)])
    )
    assert slow < 0.5 * fast and flat < 0.5 * fast and beyond > 2 * flat, (slow, fast, flat, beyond)


def test_xys_divides_by_x_and_grows_by_an_yth() -> None:
    curve = transfer("lfp_xys:x=4,y=400", **PATH)
    assert abs(curve.kept(1) - 1 / 4) < 0.01
    follows(curve, curve.losses()[1][1] + 1, lambda w, _: 1 + w / 400)


def test_xys_raises_x_with_every_epoch_that_mostly_stood_still() -> None:
    # y is at its limit already. An outage of 0.4 s stops the sender until its time-out, and every epoch of 1 s has one,
    # whenever the transfer begins. x is 2 at the first stop and doubles before the next one, or one stop later.
    outages = "time:" + ",".join(f"{at}ms-{at + 400}ms" for at in range(1000, 10000, 1300))
    # packet 300 is lost, which ends slow start
    path: dict[str, Any] = {"delay": "4ms", "ab_loss": "packets:300", "ab_loss_after": outages}
    curve = transfer("lfp_xys:adaptive=1,y=4096,epoch=1,high=0.3", "6.5s", **path)
    x, seen = 2, []
    for loss, (before, _) in enumerate(curve.losses()):
        if not loss:
            continue  # in slow start the window grows between the last sample and the loss
        share, off = curve.kept(loss), 0.01 + 1 / float(curve.cwnd[before])
        x *= 2 if abs(share - 1 / (2 * x)) < abs(share - 1 / x) else 1
        seen.append(f"{share:.3f}")
        assert curve.cwnd[before] < 4 * x or abs(share - 1 / x) < off, f"kept {seen}, x = {x}"
    assert x >= 8, f"kept {seen}"


def test_xys_does_not_count_the_pauses_of_a_sender_without_data() -> None:
    # With nothing to send for 0.5 s of 0.54 s, s would be 0.9 if those pauses counted.
    assert in_virtual_time(stopped_share_of_a_sender_that_pauses, pause_s=0.5, pauses=12) < 0.05


def test_fast_keeps_alpha_packets_in_the_queue() -> None:
    rate_bps, alpha = 50_000_000, 100
    curve = transfer(f"lfp_fast:alpha={alpha}", "4s", delay="20ms", ab_rate="50Mbit", ab_queue="4MB")
    settled = curve.t_s > curve.t_s[-1] * 0.6
    queued_s = np.median(curve.rtt_us[settled] - curve.min_rtt_us[settled]) / 1e6
    queued = queued_s * rate_bps / 8 / (MTU_PAYLOAD + 52)
    assert abs(queued / alpha - 1) < 0.2, f"{queued:.0f} packets queued"
    assert not curve.losses()
