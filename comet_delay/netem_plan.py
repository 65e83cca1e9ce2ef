"""What one direction of the model is in queueing disciplines. Pure arithmetic; nothing here touches a kernel.

The order is the box's: loss → queue and rate → delay. netem alone cannot do it: its one ``limit`` counts what waits and
what is in flight together, in packets. So there are two places a packet passes:

    bottleneck   netem (loss) with a child tbf: a token bucket of B bytes in front of which L bytes may wait takes
                 exactly what a queue of B + L bytes takes (leaky bucket), and wake-ups up to B/rate late, as virtual
                 machines have them, cost no rate
    delay        netem (delay, the same rate again): puts the packets that the bucket let out together at their
                 distance of one serialisation time, and its limit can never be what drops
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netcommon.errors import UsageError

Parameters = Mapping[str, int | str]

FRAMING_BYTES = {"l2": 0, "ethernet": 24, "ip": -14}
UNLIMITED = 2**31 - 1
_LINK_HEADER, _VLAN_TAG, _SMALLEST_FRAME = 14, 4, 42  # the smallest is an ARP packet on a veth, which does not pad
_BURST_NS = 100_000_000  # how late the kernel may wake the bucket without losing rate, if the queue is long enough
_NO_RATE_BPS = 100_000_000_000  # what a line without a rate can put into the delay at most


@dataclass(frozen=True)
class Bucket:
    """A tbf."""

    rate_bps: int
    burst_bytes: int
    limit_bytes: int


@dataclass(frozen=True)
class Plan:
    """One direction. ``overhead_bytes`` is what the framing adds to each frame's length, negative for ``ip``."""

    loss_ppb: int
    bucket: Bucket | None
    rate_bps: int
    overhead_bytes: int
    delay_ns: int
    delay_limit_packets: int


def _number(parameters: Parameters, name: str) -> int:
    value = parameters.get(name, 0)
    if isinstance(value, str):
        raise UsageError(f"{name} {value!r}: want a whole number in base units")
    if value < 0:
        raise UsageError(f"{name} {value}: negative; want 0 or more")
    return value


def _bucket(rate_bps: int, queue_bytes: int, largest_frame: int) -> Bucket:
    burst = max(largest_frame, rate_bps * _BURST_NS // (8 * 10**9))
    if not queue_bytes:
        return Bucket(rate_bps, burst, UNLIMITED)
    if queue_bytes < 2 * largest_frame:
        raise UsageError(
            f"queue_bytes {queue_bytes}: netem's token bucket wants two frames of {largest_frame} bytes at least; "
            "give more, or use the box (backend 'comet')"
        )
    burst = min(burst, max(largest_frame, queue_bytes // 2))
    return Bucket(rate_bps, burst, min(queue_bytes - burst, UNLIMITED))


def plan(parameters: Parameters, mtu: int) -> Plan:
    """Parameters in the box's names and units → disciplines. UsageError for a value that they cannot do."""
    framing = str(parameters.get("framing", "l2"))
    if framing not in FRAMING_BYTES:
        raise UsageError(f"framing {framing!r}: want one of {', '.join(FRAMING_BYTES)}")
    overhead = FRAMING_BYTES[framing]
    loss_ppb = _number(parameters, "loss_ppb")
    if loss_ppb > 10**9:
        raise UsageError(f"loss_ppb {loss_ppb}: more than all packets; want 0 to 1000000000")
    rate_bps, delay_ns = _number(parameters, "rate_bps"), _number(parameters, "delay_ns")
    if 0 < rate_bps < 1000:
        raise UsageError(f"rate_bps {rate_bps}: netem wants 1000 bit/s at least, or 0 for none")
    bucket = _bucket(rate_bps, _number(parameters, "queue_bytes"), mtu + _LINK_HEADER + _VLAN_TAG + max(overhead, 0))
    in_flight = (rate_bps or _NO_RATE_BPS) * delay_ns // (8 * 10**9) + bucket.burst_bytes
    return Plan(
        loss_ppb=loss_ppb,
        bucket=bucket if rate_bps else None,
        rate_bps=rate_bps,
        overhead_bytes=overhead,
        delay_ns=delay_ns,
        # in the smallest packets there are: nothing is allocated for it, and one sized by the MTU would drop plain ACKs
        delay_limit_packets=max(in_flight // (_SMALLEST_FRAME + overhead) + 1, 1000),
    )
