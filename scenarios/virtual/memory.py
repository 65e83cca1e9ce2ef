"""How much memory a guest gets, computed from the data that its trial has in flight, and whether the host has it."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Literal

from netcommon.errors import EXIT_MISSING, LfpError
from scenarios.plan import estimate, flows, profiles
from scenarios.plan.gateway import Gateway
from scenarios.plan.model import Scenario
from scenarios.plan.path import Direction
from scenarios.trial import analysis, rings
from scenarios.virtual import init

BASE_BYTES = 384 * 2**20  # kernel, Python, tools
_FASTEST_BPS = 10**10
_WRITER_BYTES = 8 * 2**20  # memory of a captured interface in addition to its ring
_RECORD_BYTES = 128 * 2**20  # the delay box's rings, and the part of its record that the host has not read yet
# A byte in flight is in the sender's queue and in the box, and may be in the receiver's queue. Each holds it in blocks
# that are larger than the byte's data.
_COPIES = 5
# BBR's cwnd_gain: its window is twice the path's bandwidth-delay product, and losses do not lower it.
_BBR_GAIN = 2
_KERNELS_FIRST_BYTES = 16384  # the second figure of Linux' own tcp_wmem, for which BASE_BYTES has room
_CUBIC_C = 0.4  # segments a second³ (RFC 9438)
_AQM_NS = 100 * 10**6  # how long CoDel and similar disciplines tolerate a standing queue
# One lft-gateway: its least memory with its socket's buffers, and the multiple of rate × round trip that --memory-tx
# and --memory-rx add.
_GATEWAY_BYTES, _GATEWAY_TRIPS = 160 * 2**20, 2 + 4
_GATEWAY_BPS, _GATEWAY_RTT_NS = 2_500_000_000, 200 * 10**6  # lft-gateway assumes this rate, and at least this RTT
Way = Literal["ab", "ba"]
_SHM, _LEAST_SHM_BYTES = Path("/dev/shm"), 2**30


def scratch() -> Path:
    """The folder where guests' memory is mapped: a tmpfs if it serves, so that the memory is not written to a disk. In
    a container it often does not serve: engines give it 64 MB and mount it noexec, but the memory holds the code of a
    guest's programs."""
    if os.access(_SHM, os.W_OK):
        about = os.statvfs(_SHM)
        if about.f_blocks * about.f_frsize >= _LEAST_SHM_BYTES and not about.f_flag & os.ST_NOEXEC:
            return _SHM
    return Path(tempfile.gettempdir())


def in_flight_bytes(setting: Scenario) -> int:
    """The most data that senders keep in flight in one direction: what the path holds, or the windows if they are
    smaller."""
    path = max(_held_bytes(setting, way) for way in _ways(setting))
    transfers = [one.setting.transfer for one in flows.of(setting)]
    if "bbr" in flows.controls(setting):
        path *= _BBR_GAIN
    windows = sum((transfer.window or 0) * transfer.parallel for transfer in transfers)
    return min(path, windows) if all(transfer.window for transfer in transfers) else path


def _ways(setting: Scenario) -> tuple[Way, ...]:
    """The directions that carry data."""
    return ("ab", "ba") if any(one.setting.transfer.bidir for one in flows.of(setting)) else ("ab",)


def _held_bytes(setting: Scenario, way: Way) -> int:
    """What a direction's lines and queues hold, for the whole round trip: the largest amount of the path's beginning
    and of all its changes. A parking lot has several lines in a row, and a pair's own path is one more."""
    own = list(flows.own_paths(setting).values())
    both = zip(setting.path.phases("ab"), setting.path.phases("ba"), strict=True)
    rtt_ns = max(ab.delay_ns + ba.delay_ns for ab, ba in both) + max((path.rtt_ns() for path in own), default=0)
    lines = (_line_bytes(setting, line, rtt_ns) for line in setting.path.phases(way))
    of_pairs = sum(path.direction(way).queue_bytes for path in own)
    return (setting.topology.hops or 1) * max(lines) + of_pairs


def _line_bytes(setting: Scenario, line: Direction, rtt_ns: int) -> int:
    rates = [rate for rate in (line.all_channels_bps, line.access_rate_bps) if rate]
    rate = min(rates, default=_FASTEST_BPS)
    queue = int(line.values["queue"]) or int(line.values["queue_packets"]) * setting.path.mtu
    held = rate * rtt_ns // (8 * 10**9)
    if queue or not rates or flows.controls(setting) == {"bbr"}:  # BBR leaves a standing queue of at most _BBR_GAIN
        return held + int(line.values["channels"]) * queue
    if line.values["aqm"] != "none":
        return 2 * held + rate * _AQM_NS // (8 * 10**9)
    return held + min(_given_bytes(setting, rate), _buffers_bytes(setting), _grown_bytes(setting))


def _given_bytes(setting: Scenario, rate_bps: int) -> int:
    """The largest amount that can wait in a queue without a bound: a window grows by what is acknowledged, so no more
    can be in flight than has crossed the line."""
    transfers = [one.setting.transfer for one in flows.of(setting)]
    longest_ns = max((transfer.duration or 0) + transfer.omit for transfer in transfers)
    return rate_bps * longest_ns // (8 * 10**9) + sum(transfer.bytes or 0 for transfer in transfers)


def _grown_bytes(setting: Scenario) -> int:
    """How far CUBIC's windows grow once there is a standing queue, which ends its slow start (HyStart). Other controls
    know no such bound."""
    if flows.controls(setting) != {"cubic"}:
        return sys.maxsize
    transfers = [one.setting.transfer for one in flows.of(setting)]
    streams, lasting_s = sum(one.parallel for one in transfers), estimate.transfer_s(setting)
    return int(streams * _CUBIC_C * lasting_s**3) * setting.path.mtu


def _buffers_bytes(setting: Scenario) -> int:
    """What the largest buffers of all streams hold: receive or send buffers, whichever are smaller."""
    sysctls = profiles.of(setting.profile).sysctls
    most = min(_third(sysctls, "net.ipv4.tcp_rmem"), _third(sysctls, "net.ipv4.tcp_wmem"))
    return most * sum(one.setting.transfer.parallel for one in flows.of(setting))


def _third(sysctls: dict[str, str], name: str) -> int:
    values = sysctls.get(name, "").split()
    return int(values[2]) if len(values) == 3 else profiles.LARGEST_BUFFER_BYTES


def _first_buffers_bytes(setting: Scenario) -> int:
    """What writers fill at once where send buffers begin large (the second figure of tcp_wmem), whatever the path
    holds. Streams with a window count as none: rttcp sets their buffers."""
    values = profiles.of(setting.profile).sysctls.get("net.ipv4.tcp_wmem", "").split()
    first = int(values[1]) if len(values) == 3 else 0
    transfers = [one.setting.transfer for one in flows.of(setting)]
    streams = sum(
        transfer.parallel * (2 if transfer.second or transfer.bidir else 1)
        for transfer in transfers
        if not transfer.window
    )
    return first * streams if first > _KERNELS_FIRST_BYTES else 0


def box_bytes(setting: Scenario) -> int:
    """The memory bound of the userspace box, for each direction."""
    return 32 * 2**20 + 2 * in_flight_bytes(setting)


def gateway_bytes(setting: Scenario) -> int:
    """The memory of all gateways. Third-party gateways get as much as lft-gateway."""
    own = [pair.gateway for pair in setting.pair.values() if pair.gateway]
    return sum(_of_pair_bytes(gateway, setting) for gateway in (setting.gateway, *own))


def _of_pair_bytes(gateway: Gateway, setting: Scenario) -> int:
    if gateway.kind == "none":
        return 0
    rtt_ns = max(_GATEWAY_RTT_NS, *(flows.rtt_ns(setting, pair) for pair in flows.pairs(setting)))
    rate = gateway.rate or _GATEWAY_BPS
    return 2 * (_GATEWAY_BYTES + _GATEWAY_TRIPS * rate * rtt_ns // (8 * 10**9))


def captures_bytes(setting: Scenario) -> int:
    """The memory of all captures. Their files are in the host's memory alone (pktlogger's --uncached)."""
    interfaces = [point for point in setting.capture.points if point != analysis.BOX]
    ring = rings.in_virtual_time(setting) or rings.OWN_BYTES
    record = _RECORD_BYTES if analysis.BOX in setting.capture.points else 0
    return len(interfaces) * (ring + _WRITER_BYTES) + record


def guest_bytes(setting: Scenario) -> int:
    """The memory that the guest of a trial has. The host provides it page by page, as the guest uses it, which may be
    much less (`boxes.used_bytes`)."""
    boxes = 2 * ((setting.topology.hops or 1) + len(flows.own_paths(setting))) * box_bytes(setting)
    hosts = BASE_BYTES + captures_bytes(setting) + boxes + _COPIES * len(_ways(setting)) * in_flight_bytes(setting)
    return hosts + gateway_bytes(setting) + int(_first_buffers_bytes(setting) / init.TCP_SHARE)


def available_bytes() -> int:
    """The memory that the host can give now: its free memory, but at most the free room where that is mapped."""
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
    free = int(fields["MemAvailable"].split()[0]) * 1024
    room = os.statvfs(scratch())
    return min(free, room.f_bavail * room.f_frsize)


def jobs_that_fit(largest_bytes: int, jobs: int) -> int:
    """The smaller of `jobs` and the number of guests of this size that the host has memory for. LfpError when not even
    one fits."""
    fit = available_bytes() // largest_bytes
    if not fit:
        need, have = largest_bytes // 2**20, available_bytes() // 2**20
        raise LfpError(
            f"--time virtual: a trial needs {need} MB for what is in flight and the host has {have} MB free; "
            "free some, or use a shorter delay, a lower rate or a smaller window",
            EXIT_MISSING,
        )
    return min(jobs, fit)
