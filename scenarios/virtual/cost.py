"""The wall time that a trial in virtual time takes, estimated before any has run: the time to start, plus prices for
seconds, packets and bytes.

Packets take most of it, so the estimate depends on the length of super-packets, which follows from rate and granularity
(`boxes`). The prices are processor seconds of two cores of 2025 (docs/explanation/virtual-time.md describes the
measurements). On another machine earlier runs correct them (``scenarios.run.speed``), and during a run the guest's
clock corrects them (`under_way`). The price of a user's own program as a gateway is a guess.
"""

from __future__ import annotations

from dataclasses import dataclass

from scenarios.plan import estimate
from scenarios.plan.model import Scenario
from scenarios.plan.plan import Trial
from scenarios.virtual import boxes

_START_S = 1.5
_S_PER_SECOND = 0.02  # wall time for a second of virtual time: samples, timers
_S_PER_PACKET = 7e-6  # price of a super-packet (or of each packet where it was split) with its acknowledgement
_S_PER_BYTE = 0.15e-9
_BOX_S_PER_WAKING = 0.1e-3  # price of each poll of its ports by the userspace box
_SUPER_BYTES = 65_536  # longest super-packet, which the userspace box does not limit


@dataclass(frozen=True)
class _Gateways:
    """The price of a pair of gateways."""

    start_s: float
    s_per_byte: float


_GATEWAYS = {"none": _Gateways(0, 0), "lft": _Gateways(1.2, 5e-9), "command": _Gateways(1.0, 100e-9)}
# Encryption plus decryption, by OpenSSL's single-thread speed. The ciphers that are not listed cost next to nothing.
_CIPHERS_S_PER_BYTE = {"3des-cbc": 55e-9}
_CAPTURE_START_S, _CAPTURE_S_PER_PACKET = 1.0, 5e-6  # prices of each captured point


def wall_s(trial: Trial, box: str) -> float:
    """Expected wall time, in seconds, of a trial that has a processor to itself. ``box``: see ``boxes.choose``."""
    settled = boxes.settled(trial, box)
    setting = settled.setting
    duration_s, moved = estimate.transfer_s(setting), estimate.moved_bytes(setting)
    comet, gateways = boxes.choose(settled, box) == "comet", _GATEWAYS[setting.gateway.kind]
    packets = moved / _SUPER_BYTES if comet else _packets(settled, moved)
    took_s = gateways.start_s + duration_s * _S_PER_SECOND
    cipher_s_per_byte = _CIPHERS_S_PER_BYTE.get(setting.gateway.cipher, 0) if setting.gateway.kind == "lft" else 0
    took_s += moved * (_S_PER_BYTE + gateways.s_per_byte + cipher_s_per_byte) + packets * _S_PER_PACKET
    if comet:
        took_s += _BOX_S_PER_WAKING * _wakings(setting, duration_s, moved)
    if points := len(setting.capture.points):
        took_s += _CAPTURE_START_S + points * packets * _CAPTURE_S_PER_PACKET
    return _START_S + took_s


def _wakings(setting: Scenario, duration_s: float, moved: float) -> float:
    """Wake-ups of the userspace box: one for each packet and acknowledgement, but at most two per granularity."""
    return min(1.5 * moved / setting.path.mtu, 2 * duration_s * 1e9 / max(setting.path.granularity or 0, 1))


def _packets(settled: Trial, moved: float) -> float:
    """Packets that netem gets: super-packets, where those that loss hits count as their single packets."""
    path = settled.setting.path
    whole = max(boxes.super_packets(settled)[0] // path.mtu, 1)
    loss = path.direction("ab").values["loss"]
    passes = (1 - (loss if isinstance(loss, int) else 0) / 1e9) ** whole
    return moved / path.mtu / whole * (passes + (1 - passes) * whole)
