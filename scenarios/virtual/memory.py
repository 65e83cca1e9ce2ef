"""How much memory a guest gets, from what its trial has in flight; and whether the host has it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from netcommon.errors import EXIT_MISSING, LfpError
from scenarios import tcp_profile
from scenarios.model import Scenario

BASE_BYTES = 384 * 2**20  # kernel, Python, tools
_FASTEST_BPS = 10**10
_CAPTURE_BYTES = 512 * 2**20  # page cache of captures, before the host has them
# A byte in flight is in the sender's queue, in the box, and may be in the receiver's, each in blocks larger than it is.
_COPIES = 5
# cwnd_gain of BBR: its window is twice the path's BDP, and losses do not lower it.
_BBR_GAIN = 2
# An end of lft-gateway: its least memory, its socket's buffers; and multiples of rate × round trip (--memory-tx, -rx).
_GATEWAY_BYTES, _GATEWAY_TRIPS = 160 * 2**20, 2 + 4
_GATEWAY_BPS, _GATEWAY_RTT_NS = 2_500_000_000, 200 * 10**6  # what it plans for: without a limit, and at least
_SHM = Path("/dev/shm")


def scratch() -> Path:
    """Where guests' memory is mapped: a tmpfs if there is one, which saves writing it to a disk."""
    return _SHM if os.access(_SHM, os.W_OK) else Path(tempfile.gettempdir())


def in_flight_bytes(setting: Scenario) -> int:
    """Most that a sender takes to be under way, or the window if that is less."""
    ab = setting.path.direction("ab")
    rates = [rate for rate in (ab.rate_bps, ab.access_rate_bps) if rate]
    rate = min(rates, default=_FASTEST_BPS)
    path = rate * setting.path.rtt_ns() // (8 * 10**9) + int(ab.values["queue"])
    if (setting.transfer.congestion or tcp_profile.load(setting.profile.name).congestion) == "bbr":
        path *= _BBR_GAIN
    window = setting.transfer.window
    return min(path, window) if window else path


def box_bytes(setting: Scenario) -> int:
    """What the userspace box may hold, a direction."""
    return 32 * 2**20 + 2 * in_flight_bytes(setting)


def gateway_bytes(setting: Scenario) -> int:
    """What both gateways may hold; strangers get as much as lft-gateway."""
    gateway = setting.gateway
    if gateway.kind == "none":
        return 0
    rate, rtt_ns = gateway.rate or _GATEWAY_BPS, max(setting.path.rtt_ns(), _GATEWAY_RTT_NS)
    return 2 * (_GATEWAY_BYTES + _GATEWAY_TRIPS * rate * rtt_ns // (8 * 10**9))


def guest_bytes(setting: Scenario) -> int:
    """Memory of the guest for one trial; the host gives it page by page, as it is used."""
    capture = _CAPTURE_BYTES if setting.capture.points else 0
    hosts = BASE_BYTES + capture + 2 * box_bytes(setting) + _COPIES * in_flight_bytes(setting)
    return hosts + gateway_bytes(setting)


def available_bytes() -> int:
    """What the host can give now: free memory, and room where it is mapped."""
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
    free = int(fields["MemAvailable"].split()[0]) * 1024
    room = os.statvfs(scratch())
    return min(free, room.f_bavail * room.f_frsize)


def jobs_that_fit(largest_bytes: int, jobs: int) -> int:
    """`jobs`, or as many guests of this size as the host has memory for. LfpError when not even one fits."""
    fit = available_bytes() // largest_bytes
    if not fit:
        need, have = largest_bytes // 2**20, available_bytes() // 2**20
        raise LfpError(
            f"--time virtual: a trial needs {need} MB for what is in flight and the host has {have} MB free; "
            "free some, or use a shorter delay, a lower rate or a smaller window",
            EXIT_MISSING,
        )
    return min(jobs, fit)
