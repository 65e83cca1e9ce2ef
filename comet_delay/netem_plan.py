"""Which queueing disciplines make one direction of the model. Pure arithmetic; nothing here touches a kernel.

The order is the box's: access line → loss → queue and rate → delay. One netem cannot do all of it: its ``limit`` counts
waiting packets and packets in flight together, and it loses packets before its rate. So a packet passes two interfaces,
and each of them has only the disciplines that are needed:

    bottleneck   netem (access rate), netem (loss), tbf (queue). The tokens of the tbf are the free room of the queue,
                 and they come back at the rate. While there is room, a packet passes at once. When there is none, one
                 packet waits, and those that arrive meanwhile are dropped (leaky bucket).
    delay        netem (rate, delay). Packets of the queue wait here, each until its last bit is out. The limit of this
                 netem is so large that it never drops a packet.

So a packet costs one timer, or two with an access line. Rejected: a tbf with the tokens of one frame, in which packets
of the queue actually wait. It costs one more timer per packet, and every late timer loses rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netcommon.errors import UsageError

Parameters = Mapping[str, int | str]

# The parameters that the back end supports, and their defaults, as in its state.
DEFAULTS: dict[str, int | str] = {
    "delay_ns": 0,
    "rate_bps": 0,
    "queue_bytes": 0,
    "access_rate_bps": 0,
    "loss_ppb": 0,
    "framing": "l2",
}
NOTES = (
    "super-packets are taken apart before netem (segmentation offload is off on the inner interfaces), so that it "
    "counts wire packets; the hosts keep their offloads",
    "a shorter delay set under load lets later packets overtake earlier ones",
    "turning access rate, loss or queue on or off under load drops what waits at the bottleneck; a change of rate or "
    "queue forgets how full the queue is",
    "lateness is the kernel's and is not measured",
)


@dataclass(frozen=True)
class Framing:
    """The bytes of a frame on the line: its length plus `overhead` (may be negative), but at least `shortest`."""

    overhead_bytes: int
    shortest_bytes: int = 0


# IEEE 802.3: 24 bytes of preamble, check sequence and gap; a frame is padded to 64 bytes with its check sequence
FRAMINGS = {"l2": Framing(0), "ethernet": Framing(24, shortest_bytes=84), "ip": Framing(-14)}
UNLIMITED = 2**31 - 1
_LINK_HEADER, _VLAN_TAG, _SMALLEST_FRAME = 14, 4, 42  # the smallest is an ARP packet on a veth, which does not pad
_SUPER_PACKET = 65_536  # largest of IPv4's
_OCTETS_A_PACKET = 512  # bytes: a super-packet is not split when its packets carry at least this on average
_MOST_HEADERS = _LINK_HEADER + _VLAN_TAG + 60 + 60  # link, VLAN, and IPv4 and TCP with all options
_NO_RATE_BPS = 100_000_000_000  # the assumed maximum rate of a line without a rate


@dataclass(frozen=True)
class Netem:
    """A netem. A value of 0 means that it has no delay, rate or loss."""

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
    """The disciplines of one direction.

    ``access``, ``loss`` and ``bucket`` are at the bottleneck, in this order; ``line`` has the rate and the delay.
    Super-packets shorter than ``super_bytes``, of at most ``super_packets`` packets, need not be split; 0 and 1: all
    are split.
    """

    access: Netem | None
    loss: Netem | None
    bucket: Bucket | None
    line: Netem
    framing: Framing
    super_bytes: int
    super_packets: int

    def bottleneck(self) -> dict[str, Netem | Bucket]:
        """The disciplines at the bottleneck by name, outermost first."""
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
    """Bytes that the slowest line sends within the granularity. 0 when that is less than two frames; at most an eighth
    of the queue."""
    if not granularity_ns:
        return 0
    most = min((rate * granularity_ns // (8 * 10**9) for rate in rates_bps if rate), default=_SUPER_PACKET)
    most = min(most, _SUPER_PACKET, queue_bytes // 8 if queue_bytes else _SUPER_PACKET)
    return most if most >= 2 * full_frame else 0


def _bucket(rate_bps: int, queue_bytes: int, full_frame: int, counted_bytes: int) -> Bucket:
    """A tbf that accepts as many full frames as the queue. The queue counts a frame until its last bit is out, so the
    tokens are one frame less than the queue. If super-packets are not split, the limit must be at least the counted
    length of the longest one (`counted_bytes`). The kernel splits a super-packet that is longer than the limit and
    drops the excess, even while there are tokens for all of it."""
    largest = full_frame + _VLAN_TAG
    if queue_bytes < 2 * largest:
        raise UsageError(
            f"queue_bytes {queue_bytes}: netem's token bucket wants two frames of {largest} bytes at least; "
            "give more, or use the box (backend 'comet')"
        )
    burst = max((queue_bytes - max(counted_bytes, full_frame)) // full_frame * full_frame, largest)
    return Bucket(rate_bps, min(burst, UNLIMITED), max(queue_bytes - burst, largest))


def plan(parameters: Parameters, mtu: int, granularity_ns: int = 0) -> Plan:
    """The disciplines for parameters in the box's names and units. UsageError for a value that they do not support."""
    name = str(parameters.get("framing", "l2"))
    if name not in FRAMINGS:
        raise UsageError(f"framing {name!r}: want one of {', '.join(FRAMINGS)}")
    framing = FRAMINGS[name]
    overhead = framing.overhead_bytes
    loss_ppb = _number(parameters, "loss_ppb")
    if loss_ppb > 10**9:
        raise UsageError(f"loss_ppb {loss_ppb}: more than all packets; want 0 to 1000000000")
    rate_bps, access_bps = _rate(parameters, "rate_bps"), _rate(parameters, "access_rate_bps")
    delay_ns, queue_bytes = _number(parameters, "delay_ns"), _number(parameters, "queue_bytes")
    full_frame = mtu + _LINK_HEADER + overhead
    super_bytes = _super_bytes((rate_bps, access_bps), queue_bytes, granularity_ns, full_frame)
    super_packets = super_bytes // _OCTETS_A_PACKET + 1
    # A discipline counts the headers of every wire packet, but a super-packet's length includes them only once.
    counted_bytes = super_bytes + (super_packets - 1) * (_MOST_HEADERS + overhead) + overhead
    bucket = _bucket(rate_bps, queue_bytes, full_frame, counted_bytes) if rate_bps and queue_bytes else None
    in_flight = (rate_bps or _NO_RATE_BPS) * delay_ns // (8 * 10**9) + queue_bytes
    # counted in the smallest packets: a limit costs no memory, and a limit in full packets would drop pure ACKs
    limit = UNLIMITED if rate_bps and not queue_bytes else max(in_flight // (_SMALLEST_FRAME + overhead) + 1, 1000)
    return Plan(
        access=Netem(rate_bps=access_bps) if access_bps else None,
        loss=Netem(loss_ppb=loss_ppb) if loss_ppb else None,
        bucket=bucket,
        line=Netem(limit_packets=limit, delay_ns=delay_ns, rate_bps=rate_bps),
        framing=framing,
        super_bytes=super_bytes,
        super_packets=super_packets,
    )
