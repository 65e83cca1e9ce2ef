"""What one direction of the model is in queueing disciplines. Pure arithmetic; nothing here touches a kernel.

The order is the box's: access line → loss → queue and rate → delay. netem alone cannot do it: its one ``limit`` counts
what waits and what is in flight together, in packets, and it loses packets before its rate. So there are two places a
packet passes, and at each only the disciplines that have something to do:

    bottleneck   netem (access rate), netem (loss), tbf (queue). The tbf holds nothing back that the queue would take:
                 its tokens are the queue's free room. They come back at the rate, so a packet passes at once while
                 there is room; one waits when there is none, and whoever comes then is dropped (leaky bucket).
    delay        netem (rate, delay): what waits in the queue waits here, each packet until its last bit is out, and its
                 limit can never be what drops

So a packet costs one timer, or two with an access line. Rejected: a tbf of one frame's tokens in which the queue really
waits, which costs a timer more and loses rate by every late one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netcommon.errors import UsageError

Parameters = Mapping[str, int | str]

FRAMING_BYTES = {"l2": 0, "ethernet": 24, "ip": -14}
UNLIMITED = 2**31 - 1
_LINK_HEADER, _VLAN_TAG, _SMALLEST_FRAME = 14, 4, 42  # the smallest is an ARP packet on a veth, which does not pad
_SUPER_PACKET = 65_536  # largest of IPv4's
_NO_RATE_BPS = 100_000_000_000  # what a line without a rate can put into the delay at most


@dataclass(frozen=True)
class Netem:
    """A netem; `limit_packets` is more than there can be. 0: none."""

    limit_packets: int = UNLIMITED
    delay_ns: int = 0
    rate_bps: int = 0
    loss_ppb: int = 0


@dataclass(frozen=True)
class Bucket:
    """A tbf."""

    rate_bps: int
    burst_bytes: int
    limit_bytes: int


@dataclass(frozen=True)
class Plan:
    """One direction. ``overhead_bytes`` is what the framing adds to each frame's length, negative for ``ip``.

    ``access``, ``loss``, ``bucket`` are at the bottleneck, in this order; ``line`` is the rate and the delay.
    ``super_bytes``: super-packets shorter than this may pass whole; 0: none.
    """

    access: Netem | None
    loss: Netem | None
    bucket: Bucket | None
    line: Netem
    overhead_bytes: int
    super_bytes: int

    def bottleneck(self) -> dict[str, Netem | Bucket]:
        """The disciplines there by name, outermost first."""
        every = {"access": self.access, "loss": self.loss, "bucket": self.bucket}
        return {name: discipline for name, discipline in every.items() if discipline}


def _number(parameters: Parameters, name: str) -> int:
    value = parameters.get(name, 0)
    if isinstance(value, str):
        raise UsageError(f"{name} {value!r}: want a whole number in base units")
    if value < 0:
        raise UsageError(f"{name} {value}: negative; want 0 or more")
    return value


def _rate(parameters: Parameters, name: str) -> int:
    rate_bps = _number(parameters, name)
    if 0 < rate_bps < 1000:
        raise UsageError(f"{name} {rate_bps}: netem wants 1000 bit/s at least, or 0 for none")
    return rate_bps


def _super_bytes(rates_bps: tuple[int, ...], queue_bytes: int, granularity_ns: int, full_frame: int) -> int:
    """What the slowest line sends in a granularity, if that is two frames and the queue has room for several."""
    if not granularity_ns:
        return 0
    most = min((rate * granularity_ns // (8 * 10**9) for rate in rates_bps if rate), default=_SUPER_PACKET)
    most = min(most, _SUPER_PACKET, queue_bytes // 8 if queue_bytes else _SUPER_PACKET)
    return most if most >= 2 * full_frame else 0


def _bucket(rate_bps: int, queue_bytes: int, full_frame: int, super_bytes: int) -> Bucket:
    """Takes as many full frames as a queue that counts a frame until it is out: the tokens are all of them but one, or
    but a super-packet."""
    largest = full_frame + _VLAN_TAG
    if queue_bytes < 2 * largest:
        raise UsageError(
            f"queue_bytes {queue_bytes}: netem's token bucket wants two frames of {largest} bytes at least; "
            "give more, or use the box (backend 'comet')"
        )
    burst = max((queue_bytes // full_frame - 1) * full_frame - super_bytes, largest)
    return Bucket(rate_bps, min(burst, UNLIMITED), max(queue_bytes - burst, largest))


def plan(parameters: Parameters, mtu: int, granularity_ns: int = 0) -> Plan:
    """Parameters in the box's names and units → disciplines. UsageError for a value that they cannot do."""
    framing = str(parameters.get("framing", "l2"))
    if framing not in FRAMING_BYTES:
        raise UsageError(f"framing {framing!r}: want one of {', '.join(FRAMING_BYTES)}")
    overhead = FRAMING_BYTES[framing]
    loss_ppb = _number(parameters, "loss_ppb")
    if loss_ppb > 10**9:
        raise UsageError(f"loss_ppb {loss_ppb}: more than all packets; want 0 to 1000000000")
    rate_bps, access_bps = _rate(parameters, "rate_bps"), _rate(parameters, "access_rate_bps")
    delay_ns, queue_bytes = _number(parameters, "delay_ns"), _number(parameters, "queue_bytes")
    full_frame = mtu + _LINK_HEADER + overhead
    super_bytes = _super_bytes((rate_bps, access_bps), queue_bytes, granularity_ns, full_frame)
    bucket = _bucket(rate_bps, queue_bytes, full_frame, super_bytes) if rate_bps and queue_bytes else None
    in_flight = (rate_bps or _NO_RATE_BPS) * delay_ns // (8 * 10**9) + queue_bytes
    # in the smallest packets there are: nothing is allocated for it, and one sized by the MTU would drop plain ACKs
    limit = UNLIMITED if rate_bps and not queue_bytes else max(in_flight // (_SMALLEST_FRAME + overhead) + 1, 1000)
    return Plan(
        access=Netem(rate_bps=access_bps) if access_bps else None,
        loss=Netem(loss_ppb=loss_ppb) if loss_ppb else None,
        bucket=bucket,
        line=Netem(limit_packets=limit, delay_ns=delay_ns, rate_bps=rate_bps),
        overhead_bytes=overhead,
        super_bytes=super_bytes,
    )
