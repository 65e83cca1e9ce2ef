"""Transfer tools as plug-ins: what to start at the receiver and at the sender. ``rttcp``, and ``iperf3`` in its place.

Both print rttcp's events; iperf3 does so through ``rttcp.iperf3_tool``, with the keys that it knows values for.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from netcommon import binaries
from netcommon.errors import UsageError
from scenarios.model import Scenario
from scenarios.tcp_profile import Profile

PORT = 5010
DATA_PORT = 5020  # with a gateway, which has to know it; else any


@dataclass(frozen=True)
class TransferCommands:
    """Command lines of both ends; ``samples`` is where the sender leaves TCP_INFO samples, if it takes any."""

    receiver: list[str]
    sender: list[str]
    samples: Path | None
    second: TransferCommands | None = None  # a flow beside the first, on a port of its own


def commands(setting: Scenario, profile: Profile, host: str, samples: Path) -> TransferCommands:
    """Both ends for one trial; values are exact and in base units. UsageError for what the tool cannot do."""
    if setting.transfer.tool == "iperf3":
        return _iperf3(setting, profile, host)
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
    if transfer.zerocopy:
        sender += ["--zerocopy", "--skip-rx-copy"]
    receiver = [rttcp, "-r", family, "--port", str(port), "--once"]
    if setting.gateway.kind != "none" and setting.gateway.model == "proxy":
        receiver += ["--data-port", str(DATA_PORT)]
    return TransferCommands(receiver, sender, None)


def _iperf3(setting: Scenario, profile: Profile, host: str) -> TransferCommands:
    """One flow, no samples. ``window`` becomes both ends' socket buffers, of which the kernel offers what it likes."""
    transfer = setting.transfer
    congestion = transfer.congestion or profile.congestion
    if transfer.second:
        raise UsageError('transfer.second: iperf3 has one congestion control a run; use tool = "rttcp"')
    if ":" in congestion:
        raise UsageError(f"transfer.congestion = '{congestion}': iperf3 takes a name alone; use tool = \"rttcp\"")
    if transfer.zerocopy:
        raise UsageError("transfer.zerocopy: of rttcp; iperf3 as it is run here copies")
    if transfer.duration is not None and transfer.duration % 10**9:
        raise UsageError(f"transfer.duration = {transfer.duration} ns: iperf3 takes whole seconds")
    adapter = [sys.executable, "-m", "rttcp.iperf3_tool"]
    family = "-4" if transfer.family == "ipv4" else "-6"
    client = ["--client", host, family, "--port", str(PORT), "--length", str(transfer.length)]
    client += ["--congestion", congestion]
    if transfer.bytes is not None:
        client += ["--bytes", str(transfer.bytes)]
    if transfer.duration is not None:
        client += ["--time", str(transfer.duration // 10**9)]
    if window := transfer.window or profile.window_bytes:
        client += ["--window", str(window)]
    if transfer.nodelay:
        client += ["--no-delay"]
    return TransferCommands(
        [*adapter, "receive", "--port", str(PORT), "--", family], [*adapter, "send", "--", *client], None
    )
