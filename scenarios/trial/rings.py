"""How large the rings of a trial's capture are. The kernel clears a ring when it is made, and one that is larger than
the processor's cache makes each packet slower: rings of 17 MB at both ends took 3 % of a trial in virtual time.

In real time a ring has room for the packets that come while the disk or another program keeps pktlogger from running.
In virtual time no packets come while pktlogger runs, so a ring needs room only for the block that the kernel fills and
for the packets that a sender sends at once. These are at most as many packets of the MTU as path and queue hold. Where
TCP may build super-packets they are fewer: each is a whole write, or a millisecond of its stream's rate (Linux,
tcp_tso_autosize).
"""

from __future__ import annotations

from typing import Literal

from scenarios.plan import flows
from scenarios.plan.model import Scenario
from scenarios.plan.path import Direction

_STALL_S = 4
_ENTRY_BYTES = 128  # what a ring needs for a packet in addition to its own bytes, at most
OWN_BYTES = 64 * 2**20  # pktlogger's default
_LEAST_BYTES, _LEAST_VIRTUAL_BYTES = 8 * 2**20, 2 * 2**20  # two MB are eight blocks of libpcap
_SUPER_BYTES, _SUPER_S = 2**16, 1e-3
# A path that sets only these releases each packet when it is due. Other parameters may hold many back and release them
# at once.
_STEADY = {"delay_ns", "rate_bps", "queue_bytes", "loss_ppb", "loss"}
_WAYS: tuple[Literal["ab", "ba"], ...] = ("ab", "ba")


def in_real_time(setting: Scenario) -> int | None:
    """The bytes of each ring, the kernel's and pktlogger's. None: pktlogger's default."""
    if not _is_slow(setting):
        return None
    return _fitting(setting, _STALL_S * _most_bps(setting) / 8 / setting.path.mtu, _LEAST_BYTES)


def in_virtual_time(setting: Scenario) -> int | None:
    """The bytes of each ring of the kernel. None: pktlogger's default."""
    if not _is_slow(setting):
        return None
    lines = _lines(setting)
    queue_bytes = max(int(line.values["channels"]) * int(line.values["queue"]) for line in lines)
    held_bytes = sum(line.delay_ns for line in lines) / 1e9 * _most_bps(setting) / 8 + queue_bytes
    packets = held_bytes / setting.path.mtu
    if not setting.path.nic_rate and all(line.changed().keys() <= _STEADY for line in lines):
        packets = min(packets, _super_packets(setting, held_bytes))
    return _fitting(setting, packets, _LEAST_VIRTUAL_BYTES)


def _is_slow(setting: Scenario) -> bool:
    """Whether the line bounds the rate at which packets come. Gateways take data from their hosts as fast as the
    machine can."""
    lines = _lines(setting)
    fast = setting.gateway.kind != "none" or any(line.access_rate_bps for line in lines)
    return not fast and all(line.all_channels_bps for line in lines)


def _lines(setting: Scenario) -> list[Direction]:
    return [line for path in flows.paths(setting) for way in _WAYS for line in path.phases(way)]


def _most_bps(setting: Scenario) -> int:
    return max(line.all_channels_bps for line in _lines(setting))


def _super_packets(setting: Scenario, held_bytes: float) -> float:
    """The number of super-packets in which all streams together send this many bytes at once. Messages of request and
    response may be as short as a packet."""
    transfers = [one.setting.transfer for one in flows.of(setting)]
    if any(transfer.request for transfer in transfers):
        return held_bytes
    whole = min(_SUPER_BYTES, *(transfer.write_bytes or _SUPER_BYTES for transfer in transfers))
    streams = sum(2 * transfer.parallel + 2 for transfer in transfers)  # both directions, and additional flows
    return held_bytes / whole + streams * held_bytes * 8 / _most_bps(setting) / _SUPER_S


def _fitting(setting: Scenario, packets: float, least_bytes: int) -> int | None:
    """Room for this number of packets and as many acknowledgements. None where that is at least pktlogger's own
    ring."""
    wanted = max(least_bytes, int(2 * packets * (setting.capture.snap_bytes + _ENTRY_BYTES)))
    return wanted if wanted < OWN_BYTES else None
