"""``lfp legs``: follows a transfer from capture point to capture point."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click

from lfp.commands._options import runs_dir_option
from netcommon import readable
from netcommon.binaries import find
from netcommon.errors import UsageError
from netcommon.printable import printable
from scenarios.run import runs
from scenarios.trial import legs


@click.command("legs")
@click.argument("run", required=False)
@click.argument("trial", type=click.IntRange(0), required=False)
@click.option(
    "--leg",
    "given",
    metavar="SENDER,RECEIVER[,BOX]",
    multiple=True,
    help="Captures at both ends of a connection, and the record of a delay box between them ('pktlogger "
    "record -o'); again for each connection, in the order in which the data pass them.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@runs_dir_option
def command(run: str | None, trial: int | None, given: tuple[str, ...], as_json: bool, runs_dir: Path) -> None:
    """Join all capture points of a trial of RUN (path, name or 'last'), or given captures: for each leg its delay and
    its losses with place and cause, for each gateway and box how long data stayed there. 1 KB is 1,024 bytes."""
    if bool(run) == bool(given):
        raise UsageError("lfp legs: want RUN [TRIAL], or --leg SENDER,RECEIVER for each connection")
    found = legs.of_captures([_leg(text) for text in given]) if given else legs.of_trial(_folder(run, trial, runs_dir))
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
    else:
        click.echo(printable("\n".join(_lines(found))))


def _leg(text: str) -> legs.Leg:
    parts = [Path(part) for part in text.split(",")]
    if not 2 <= len(parts) <= 3:
        raise UsageError(f"--leg '{text}': want SENDER,RECEIVER or SENDER,RECEIVER,BOX")
    return parts[0], parts[1], parts[2] if len(parts) > 2 else None


def _folder(run: str | None, trial: int | None, runs_dir: Path) -> Path:
    run_dir = runs.find(run or "", runs_dir)
    folders = {int(folder.name): folder for folder in runs.trial_folders(run_dir)}
    if trial is None and len(folders) == 1:
        trial = next(iter(folders))
    if trial not in folders:
        numbers = ", ".join(map(str, folders)) or "none"
        raise UsageError(f"{run_dir}: trial {'is not given' if trial is None else trial}; there are {numbers}")
    return folders[trial]


def _lines(report: dict[str, Any]) -> Iterator[str]:
    """The account as text: a paragraph for each leg and each gateway, and one for the whole path."""
    ends = ["{address} port {port}".format_map(report[side]) for side in ("sender", "receiver")]
    seconds = report["elapsed_ns"] / 1e9
    speed = readable.rate(8 * report["bytes"] / seconds) if seconds > 0 else readable.NOTHING
    one = f", the one with the most data of {report['streams']} streams" if report["streams"] > 1 else ""
    yield f"{ends[0]} to {ends[1]}: {readable.size(report['bytes'])} in {readable.number(seconds)} s, {speed}{one}"
    for number, leg in enumerate(report["legs"]):
        before = report["legs"][number - 1]["to"] if number else leg["from"]
        if before != leg["from"]:  # a point between two legs of one connection is not a gateway
            yield from _gateway(before, leg["from"], report["gateways"][number - 1])
            yield from _tunnel(report["tunnel"]) if report["tunnel"] else ()
        yield from _leg_lines(leg)
    if len(report["legs"]) > 1:
        yield f"{report['legs'][0]['from']} to {report['legs'][-1]['to']}, the whole way: {_spread(report['delay_ns'])}"
    if report["alone"]:
        yield f"of this connection alone, and not of the whole way: {report['alone']}"
    limits = report["limits_ns"] or {}
    for cause, time_ns in sorted(limits.items(), key=lambda item: -item[1]):
        share = readable.share(time_ns / sum(limits.values()), 2)
        yield f"  limited for {readable.duration(time_ns)} ({share}) by: {_words(cause)}"


def _leg_lines(leg: dict[str, Any]) -> Iterator[str]:
    yield f"{leg['from']} to {leg['to']}: {_spread(leg['delay_ns'])}"
    yield f"  {leg['packets']} packets, {leg['sent_again']} of them sent again, {leg['lost']} lost"
    if leg["verdict"]:
        yield f"  {leg['verdict']}"
    for one in leg["losses"]:
        place = f" {one['place']}" if one["place"] else ""
        yield f"    {one['packets']} lost{place} ({_words(one['cause'])})"
    if leg["losses"] and leg["ruled_out"]:
        yield f"    the path's parameters rule out: {'; '.join(map(_words, leg['ruled_out']))}"
    for end in leg["cut"]:
        yield f"  the capture at {leg['from' if end == 'sender' else 'to']} is cut; all before the cut was read"
    if leg["missed_by_capture"]:
        yield f"  {leg['missed_by_capture']} packets arrived that the capture at {leg['to']} does not have"
    if leg["box"]:
        for name, where in (("before_ns", "to the box"), ("dwell_ns", "in the box"), ("behind_ns", "from the box on")):
            times = leg["box"][name]
            other = times is None and leg["box"]["dwell_ns"] is not None
            yield f"  {where}: {'not known, the record has another clock' if other else _spread(times)}"


def _gateway(into: str, out: str, stay: dict[str, Any]) -> Iterator[str]:
    yield f"{into} to {out}, the gateway: {_spread(stay['dwell_ns'])}"
    yield f"  at most {readable.size(stay['held_bytes_max'])} were held at once"
    if stay["never_left_bytes"]:
        yield f"  {readable.size(stay['never_left_bytes'])} came in and never left"


def _tunnel(tunnel: dict[str, Any]) -> Iterator[str]:
    lost = ", ".join(f"{packets} lost ({_words(fate)})" for fate, packets in tunnel["lost"].items()) or "none lost"
    yield f"  the delay box in the tunnel: {tunnel['packets']} packets, {lost}"
    yield f"    in the box: {_spread(tunnel['dwell_ns'])}"


def _spread(times: dict[str, int] | None) -> str:
    if times is None:
        return "no packet arrived"
    shown = {name: readable.duration(value) for name, value in times.items()}
    if times["min"] == times["max"]:
        return f"{shown['min']} each"
    return f"{shown['min']} at least, {shown['p50']} median, {shown['p95']} for 95 %, {shown['max']} at most"


@cache
def _table() -> dict[str, str]:
    """The words of pktlogger's table of causes, which all of its texts use."""
    done = subprocess.run([find("pktlogger"), "--causes-json"], capture_output=True, text=True, check=True, timeout=60)
    rows = json.loads(done.stdout)
    return {row["name"]: row["words"] for kind in ("losses", "limits") for row in rows[kind]}


def _words(name: str) -> str:
    """The words for a cause, or for a delay box's action."""
    return _table().get(name, name.replace("_", " "))
