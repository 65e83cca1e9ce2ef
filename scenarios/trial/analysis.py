"""From a trial's captures to tables: segments, acknowledgements and events of each connection, the box's packets, and
the frames between gateways (SCENARIO.md, "Captures"). pktlogger does the analysis. This module decides which captures
are analysed together.

With gateways a transfer is two connections: the client's to the near gateway, and the far gateway's to the server. Both
carry the same bytes, so their relative sequence numbers are positions in one stream, and one axis fits both. What the
server sends, as responses, passes the same two connections in the opposite order: first the server's, then the
client's.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from netcommon import binaries
from netcommon.ledger import Ledger
from netcommon.process import Tool
from scenarios.network.place import Network
from scenarios.network.topology import Topology
from scenarios.plan import flows
from scenarios.plan.model import Scenario
from scenarios.plan.path import PathTable
from scenarios.trial import path_line, recovery, rings
from scenarios.trial.captured import REVERSE, SERVER, THROUGH
from scenarios.trial.files import read_json, write_json

if TYPE_CHECKING:
    import pyarrow as pa

ANALYSE_TIMEOUT_S = 600.0
_MOST_OUTAGES, _FOR_EVER_NS = 1024, 2**62
_WAYS: tuple[Literal["ab", "ba"], ...] = ("ab", "ba")
BOX = "box"  # the capture point that is not an interface; also the name of its folder and of its file
TUNNEL_POINTS = ("gw1-out", "gw2-in")
ENDS = ("sender", "receiver")  # pktlogger's names of a connection's ends


def capture_command(net: Network, setting: Scenario, folder: Path, stalls: bool = True) -> list[str] | None:
    """Command line of ``pktlogger capture`` for the interfaces of hosts and gateways among the capture points, one file
    ``folder/<point>.pcapng`` each. Lines of standard input become comments. None if there is no such point. ``stalls``:
    whether the disk or another program may keep pktlogger from running for seconds, which cannot happen in virtual
    time. There pktlogger bypasses the page cache, because the host would have to provide each of its pages to the
    guest."""
    argv = [str(binaries.find("pktlogger")), "capture", "--snap", str(setting.capture.snap_bytes), "--comments"]
    if size := rings.in_real_time(setting) if stalls else rings.in_virtual_time(setting):
        argv += ["--buffer", str(size), *(["--ring", str(size)] if stalls else [])]
    argv += ["--no-data"] if setting.capture.snap is None else []
    argv += [] if stalls else ["--one-thread", "--uncached"]
    interfaces = [point for point in setting.capture.points if point != BOX]
    for point in interfaces:
        assert isinstance(net, Topology)  # hosts that exist are not captured (`flows.wrong`)
        node = point.partition("-")[0]
        argv += ["-i", f"{_interface(net, point)}@{net.pid(node)}", "-w", str(folder / f"{point}.pcapng")]
    return argv if interfaces else None


def _interface(net: Topology, point: str) -> str:
    """A host's only interface, or the gateway's interface where the sender's data comes ``in`` or goes ``out``."""
    node, _, side = point.partition("-")
    return net.interface(node, "left" if side == "in" else "right") if side else net.host_interface(node)


def analyse(setting: Scenario, folder: Path, ledger: Ledger, known: Sequence[str] = ()) -> None:
    """Writes the tables that the trial's capture points allow into its ``folder``. LfpError when pktlogger fails.
    ``known``: options that say what is known of the sender's programs (`senders.analysis_options`)."""
    points, record = set(setting.capture.points), folder / BOX
    points -= {"gw2-out"} if setting.gateway.is_asked else set()  # its connection cannot be joined with the client's
    both_ways = any(one.setting.transfer.both_ways for one in flows.of(setting))
    if setting.gateway.has_nodes:
        _join_legs(points, folder, (("snd", "gw1-in"), ("gw2-out", "rcv")), folder, ledger, known)
        if both_ways:
            legs = (("rcv", "gw2-out"), ("gw1-in", "snd"))
            _join_legs(points, folder, legs, folder / REVERSE, ledger, known, back=True)
        if points.issuperset(TUNNEL_POINTS):
            _write_tunnel(setting, folder, ledger)
    elif setting.gateway.kind == "none" and {"snd", "rcv"} <= points:
        options = ["--box", str(record), "--late-from", f"{_late_ns(setting.path)}ns"] if record.exists() else []
        path_line.write(setting, folder, record)
        options += ["--ruled-out", ",".join(impossible)] if (impossible := ruled_out(*_first_pairs(setting))) else []
        options += ["--outages", ",".join(spans)] if (spans := outage_spans(folder)) else []
        line = folder / path_line.TABLE
        _join(folder, "snd", "rcv", folder, ledger, [*options, "--line", str(line), *known])
        if both_ways:
            back = folder / REVERSE / path_line.TABLE
            back.parent.mkdir(exist_ok=True)
            write_json(back, path_line.turned(read_json(line) or {}))
            _join(
                folder, "rcv", "snd", back.parent, ledger, [*options, "--line", str(back), *known, "--sender-accepted"]
            )
    if record.exists():
        import pktlogger  # imported here because it imports pyarrow, which a trial in virtual time should not wait for

        pktlogger.to_parquet(record, folder / f"{BOX}.parquet")
        shutil.rmtree(record)


def outage_spans(folder: Path) -> list[str]:
    """The outages between the captured hosts that have ended, by CLOCK_REALTIME; at most as many as pktlogger takes."""
    box, params = (read_json(folder / f"{name}.json") or {} for name in ("delay", "params"))
    spans = [one for one in recovery.of_boxes(params, box, "realtime") if one[1] < _FOR_EVER_NS]
    return [f"{begin}-{end}" for begin, end in spans[:_MOST_OUTAGES]]


def _late_ns(path: PathTable) -> int:
    """The lateness from which on the box counts as late: a millisecond more than its granularity and poll ask for."""
    return 1_000_000 + (path.granularity or 0) + (path.poll or 0)


def _first_pairs(setting: Scenario) -> list[PathTable]:
    """The paths between the hosts that are captured."""
    own = flows.own_path(setting, 1)
    return [setting.path, own] if own else [setting.path]


def ruled_out(*paths: PathTable) -> list[str]:
    """The causes of losses, under pktlogger's names, that the parameters of the paths between two hosts rule out."""
    phases = [phase.values for path in paths for way in _WAYS for phase in path.phases(way)]

    queues = {str(values["aqm"]).partition(":")[0] for values in phases}

    def any_of(*keys: str) -> bool:
        return any(values[key] not in (0, "none") for values in phases for key in keys)

    possible = {
        "tail_drop": any_of("rate", "rate_trace", "access_rate", "pace", "pace_packets", "queue", "queue_packets")
        or any(path.nic_rate for path in paths),
        "aqm": any(aqm not in ("none", "policer") for aqm in queues),
        "random_before": any_of("loss"),
        "random_behind": any_of("loss_after"),
        "outage": any_of("loss", "loss_after"),
        "receiver": any_of("drain_rate"),
        "policer": "policer" in queues,
    }
    return [cause for cause, there in possible.items() if not there]


def gateways(number: int, connections: int) -> list[str]:
    """The options that say which ends of a connection are gateways. ``number``: the connection's number, from 0, in the
    order in which the data pass them; ``connections``: how many there are."""
    return [*(["--from-gateway"] if number else []), *(["--to-gateway"] if number + 1 < connections else [])]


def _join_legs(
    points: Set[str],
    folder: Path,
    legs: tuple[tuple[str, str], tuple[str, str]],
    target: Path,
    ledger: Ledger,
    options: Sequence[str],
    *,
    back: bool = False,
) -> None:
    """Analyses the connections on both sides of a pair of gateways, as far as they were captured. ``legs``: the capture
    points of each, in the order in which the data pass them. ``back``: the data come from the ends that accepted the
    connections."""
    (near, far), whose = legs, ["--sender-accepted"] if back else []
    if set(near) <= points:
        _join(folder, *near, target, ledger, [*options, *whose, *gateways(0, 2)])
    if set(far) <= points:
        _join(folder, *far, target / SERVER, ledger, [*whose, *gateways(1, 2)])
    if {*near, *far} <= points:
        write_through(target)


def _join(folder: Path, sender: str, receiver: str, target: Path, ledger: Ledger, options: Sequence[str] = ()) -> None:
    """Analyses a trial's captures at both ends of a connection; see `join`. The points of a trial have one clock."""
    files = [folder / "capture" / f"{point}.pcapng" for point in (sender, receiver)]
    work, log = folder / "analysis", folder / "log" / f"analyse-{sender}.stderr"
    join(files, target, work, log, ledger, ["--clock", "same", *options])


def join(files: Sequence[Path], target: Path, work: Path, log: Path, ledger: Ledger, options: Sequence[str]) -> None:
    """Analyses captures, the sender's first: tables and summary.json in ``target``. ``options``: those that say what is
    known from elsewhere. ``work``: a temporary folder, which must not exist yet."""
    import pktlogger

    ends = (f"--{end}" for end in ENDS)
    argv = ["analyse", *itertools.chain(*zip(ends, map(str, files), strict=False)), *options]
    with worked(argv, work, log, ledger):
        target.mkdir(parents=True, exist_ok=True)
        pktlogger.analysis_to_parquet(work, target)
        shutil.move(work / "summary.json", target / "summary.json")


def write_through(folder: Path) -> None:
    """Joins both connections: passes.parquet, whole-limits.parquet and through.json (pktlogger's FORMAT.md, 11)."""
    import pyarrow.parquet as parquet

    import pktlogger

    found = pktlogger.through(pktlogger.read_analysis(folder), pktlogger.read_analysis(folder / SERVER))
    parquet.write_table(found.passes, folder / "passes.parquet", compression="zstd")
    parquet.write_table(found.limits, folder / "whole-limits.parquet", compression="zstd")
    document = {"v": 1, "limit_causes": found.limit_causes, "flows": found.flows}
    (folder / THROUGH).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _write_tunnel(setting: Scenario, folder: Path, ledger: Ledger) -> None:
    """Writes tunnel.parquet: all frames between the gateways as the interfaces of both saw them, in order of time."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    net = Topology.of(setting)
    near = {net.address_of("snd", "right"), net.address_of("gw1", "left"), net.address_of("gw1", "right")}
    tables = [_frames(setting, folder, number, near, ledger) for number in range(len(TUNNEL_POINTS))]
    parquet.write_table(pa.concat_tables(tables).sort_by("t_ns"), folder / "tunnel.parquet", compression="zstd")


def _frames(setting: Scenario, folder: Path, number: int, near: set[str], ledger: Ledger) -> pa.Table:
    """The frames at one point: time, ``point`` (its number), ``dir`` (0: from the near side), bytes, and packets on the
    wire."""
    import numpy as np
    import pyarrow as pa

    import pktlogger

    point, work = TUNNEL_POINTS[number], folder / "analysis"
    argv = ["frames", str(folder / "capture" / f"{point}.pcapng"), "--mtu", str(setting.path.mtu)]
    with worked(argv, work, folder / "log" / f"frames-{point}.stderr", ledger):
        sources, table = pktlogger.frame_sources(work), pktlogger.read_table(work)
        directions = np.ones(256, np.uint8)  # source 255 has no address, and its frames are not the tunnel's
        directions[[i for i, address in enumerate(sources) if address in near]] = 0
        source = table["source"].to_numpy()
        columns = {name: table[name].to_numpy()[source < len(sources)] for name in ("t_ns", "bytes", "parts")}
        of_point = np.full(columns["t_ns"].size, number, np.uint8)
        return pa.table(columns | {"point": of_point, "dir": directions[source[source < len(sources)]]})


@contextmanager
def worked(argv: list[str], work: Path, log: Path, ledger: Ledger) -> Iterator[None]:
    """Runs a pktlogger command. Its folder of results exists inside the block and is removed afterwards."""
    whole = [str(binaries.find("pktlogger")), *argv, "-o", str(work)]
    with Tool(whole, name=f"pktlogger {argv[0]}", stderr_path=log, ledger=ledger) as tool:
        tool.finish(ANALYSE_TIMEOUT_S)
    try:
        yield
    finally:
        shutil.rmtree(work)
