"""The account of a transfer from capture point to capture point: of a trial, or of captures that somebody made."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netcommon import binaries, trial_tables
from netcommon.errors import UsageError
from netcommon.process import Tool
from scenarios.trial import analysis, captured, points
from scenarios.trial.files import read_json

if TYPE_CHECKING:
    import pktlogger

Leg = tuple[Path, Path, Path | None]  # captures at both ends, and the record of a delay box between them


def of_trial(folder: Path) -> dict[str, Any]:
    """The account of a trial (pktlogger's FORMAT.md, section 12). UsageError when no connection was captured at both
    ends."""
    import pktlogger

    if foreign := points.legs(folder):
        read = [pktlogger.read_analysis(place) for place, *_ in foreign]
        return _account(read, [names for _, *names in foreign]) | {"limits_ns": _limits_of_points(folder)}
    params = read_json(folder / "params.json")
    if params.get("topology") == points.CAPTURED:  # an older run has none
        raise UsageError(f"'{folder}': captured at one end alone; a leg wants both: lfp import SND RCV")
    gateway = params["gateway"] != "none"
    places = [(folder, "snd", "gw1-in" if gateway else "rcv"), (folder / captured.SERVER, "gw2-out", "rcv")]
    there = [place for place in places if (place[0] / "segments.parquet").exists()]
    if not there:
        raise UsageError(
            f"'{folder}': no connection was captured at both ends; want capture.points with "
            + ("snd and gw1-in, or gw2-out and rcv" if gateway else "snd and rcv")
        )
    end = read_json(folder / "transfer.json") or {}
    own = captured.numbers(read_json(there[0][0] / "summary.json"), end) if there[0][0] == folder else []
    found = _account([pktlogger.read_analysis(place) for place, *_ in there], [names for _, *names in there], own)
    record = folder / f"{analysis.BOX}.parquet"
    if gateway and len(there) == 1:
        found["alone"] = _why_alone(params, there[0][0] == folder)
    if gateway and record.exists():
        found["tunnel"] = pktlogger.tunnel(trial_tables.read(record), _around(end))
    return found


def _why_alone(params: dict[str, Any], near: bool) -> str:
    """Why one of a trial's two connections is not in its account."""
    if not near:
        return "the client's connection was not captured at snd and gw1-in"
    if params.get("gateway_proxy") in ("socks5", "http"):
        return f"with gateway.proxy {params['gateway_proxy']} the server's connection has other places in its stream"
    return "the server's connection was not captured at gw2-out and rcv"


def _around(end: dict[str, Any]) -> list[tuple[str, str]]:
    """The addresses of the flow `plain`, which goes around the gateways."""
    sender = (end.get("plain") or {}).get("sender") or {}
    here, there = (str(sender.get(name, "")).rpartition(":")[0].strip("[]") for name in ("local", "remote"))
    return [(here, there)] if here and there else []


def _limits_of_points(folder: Path) -> dict[str, int] | None:
    """What limited a transfer in imported captures: the limits of a single connection, or of two connections together;
    None with more."""
    main = (read_json(folder / "summary.json") or {}).get("main_flow", -1)
    if not (folder / captured.SERVER).is_dir():
        own: dict[str, int] | None = captured.flow_of(read_json(folder / "summary.json") or {}, main).get("limits_ns")
        return own
    through = (read_json(folder / captured.THROUGH) or {}).get("flows") or []
    return next((flow["limits_ns"] for flow in through if flow["flow"] == main), None)


def of_captures(legs: Sequence[Leg]) -> dict[str, Any]:
    """The account of captures. ``legs``: one for each connection, in the order in which the data pass them."""
    import pktlogger

    with tempfile.TemporaryDirectory(prefix="lfp-legs-") as scratch:
        folders = [Path(scratch) / str(number) for number in range(len(legs))]
        for number, ((sender, receiver, box), folder) in enumerate(zip(legs, folders, strict=True)):
            argv = [str(binaries.find("pktlogger")), "analyse", "--sender", str(sender), "--receiver", str(receiver)]
            argv += ["-o", str(folder), *(["--box", str(box)] if box else []), *analysis.gateways(number, len(legs))]
            with Tool(argv, name="pktlogger analyse") as tool:
                tool.finish(analysis.ANALYSE_TIMEOUT_S)
        names = [[sender.name, receiver.name] for sender, receiver, _ in legs]
        return _account([pktlogger.read_analysis(folder) for folder in folders], names)


def _account(
    analyses: Sequence[pktlogger.Analysis], names: Sequence[Sequence[str]], flow_numbers: Sequence[int] = ()
) -> dict[str, Any]:
    """``flow_numbers``: the transfer's connections in the first leg; if empty, the connection with the most data."""
    import pktlogger

    try:
        found = pktlogger.legs(analyses, next(iter(flow_numbers), None))
    except ValueError as error:
        raise UsageError(f"{error}: {'; '.join(' to '.join(leg) for leg in names)}") from error
    for leg, (sender, receiver) in zip(found["legs"], names, strict=True):
        leg |= {"from": sender, "to": receiver}
    return found | {"tunnel": None, "streams": max(len(flow_numbers), 1), "alone": None}
