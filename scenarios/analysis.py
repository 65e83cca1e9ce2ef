"""Captures of a trial to segments, acknowledgements and events, by pktlogger."""

from __future__ import annotations

import shutil
from pathlib import Path

from netcommon import binaries
from netcommon.process import Tool
from scenarios.topology import Topology

ANALYSE_TIMEOUT_S = 600.0


def capture_command(net: Topology, points: tuple[str, ...], snap: int, folder: Path) -> list[str]:
    """``pktlogger capture`` of hosts' and gateways' interfaces into ``folder/<point>.pcapng``."""
    pids = net.pids()
    argv = [str(binaries.find("pktlogger")), "capture", "--snap", str(snap)]
    for point in points:
        node = point.partition("-")[0]
        argv += ["-i", f"{_interface(net, point)}@{pids[node]}", "-w", str(folder / f"{point}.pcapng")]
    return argv


def _interface(net: Topology, point: str) -> str:
    """A host's only interface; of a gateway the one where the sender's data comes ``in`` or goes ``out``."""
    node, _, side = point.partition("-")
    return net.interface(node, "left" if side == "in" else "right") if side else net.host_interface(node)


def analyse(captures: Path, folder: Path, log: Path) -> None:
    """Joins sender's and receiver's capture; leaves Parquet tables and summary.json in ``folder``."""
    import pktlogger  # with pyarrow, which a trial in virtual time does not wait for

    work = folder / "analysis"
    argv = [binaries.find("pktlogger"), "analyse", "--sender", captures / "snd.pcapng"]
    argv += ["--receiver", captures / "rcv.pcapng", "-o", work]
    with Tool([str(a) for a in argv], name="pktlogger analyse", stderr_path=log) as tool:
        tool.finish(ANALYSE_TIMEOUT_S)
    pktlogger.analysis_to_parquet(work, folder)
    shutil.move(work / "summary.json", folder / "summary.json")
    shutil.rmtree(work)
