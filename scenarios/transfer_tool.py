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


def commands(setting: Scenario, profile: Profile, host: str, samples: Path) -> TransferCommands:
    """``rttcp -r`` and ``rttcp -t`` for one trial; values are exact and in base units."""
    transfer, rttcp = setting.transfer, str(binaries.find("rttcp"))
    family = "-4" if transfer.family == "ipv4" else "-6"
    sender = [rttcp, "-t", host, family, "--port", str(PORT), "--length", str(transfer.length)]
    sender += ["--congestion", transfer.congestion or profile.congestion]
    if transfer.bytes is not None:
        sender += ["--bytes", str(transfer.bytes)]
    if transfer.duration is not None:
        sender += ["--duration", f"{transfer.duration}ns"]
    if window := transfer.window or profile.window_bytes:
        sender += ["--window", str(window)]
    if transfer.nodelay:
        sender += ["--nodelay"]
    if transfer.sample:
        sender += ["--sample", f"{transfer.sample}ns", "--samples", str(samples)]
    receiver = [rttcp, "-r", family, "--port", str(PORT), "--once"]
    return TransferCommands(receiver, sender, samples if transfer.sample else None)
