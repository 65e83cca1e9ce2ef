"""Transfer tools as plug-ins: what to start at the receiver and at the sender. ``rttcp`` is the one so far."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from netcommon import binaries
from scenarios.model import Scenario
from scenarios.tcp_profile import Profile

PORT = 5010


@dataclass(frozen=True)
class TransferCommands:
    """Command lines of both ends; ``samples`` is where the sender leaves TCP_INFO samples, if it takes any."""

    receiver: list[str]
    sender: list[str]
    samples: Path | None
    second: TransferCommands | None = None  # a flow beside the first, on a port of its own


def commands(setting: Scenario, profile: Profile, host: str, samples: Path) -> TransferCommands:
    """``rttcp -r`` and ``rttcp -t`` for one trial; values are exact and in base units."""
    first = _flow(setting, profile, host, PORT, setting.transfer.congestion or profile.congestion)
    second = _flow(setting, profile, host, PORT + 1, setting.transfer.second) if setting.transfer.second else None
    if not setting.transfer.sample:
        return TransferCommands(first.receiver, first.sender, None, second)
    sampled = [*first.sender, "--sample", f"{setting.transfer.sample}ns", "--samples", str(samples)]
    return TransferCommands(first.receiver, sampled, samples, second)


def _flow(setting: Scenario, profile: Profile, host: str, port: int, congestion: str) -> TransferCommands:
    """Both ends of one flow, without samples."""
    transfer, rttcp = setting.transfer, str(binaries.find("rttcp"))
    family = "-4" if transfer.family == "ipv4" else "-6"
    sender = [rttcp, "-t", host, family, "--port", str(port), "--length", str(transfer.length)]
    sender += ["--congestion", congestion]
    if transfer.bytes is not None:
        sender += ["--bytes", str(transfer.bytes)]
    if transfer.duration is not None:
        sender += ["--duration", f"{transfer.duration}ns"]
    if window := transfer.window or profile.window_bytes:
        sender += ["--window", str(window)]
    if transfer.nodelay:
        sender += ["--nodelay"]
    return TransferCommands([rttcp, "-r", family, "--port", str(port), "--once"], sender, None)
