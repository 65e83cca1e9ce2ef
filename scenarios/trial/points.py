"""Captures that others made at points along a path, as the tables of a trial.

Neighbouring points that show a connection in common are the ends of a *leg*. Between two neighbours that show none, a
gateway or a proxy ends the connections and opens others. Consecutive legs belong to one connection, which is analysed
from its first point to its last one. The tables of the first connection are stored like those of a trial with a single
connection. The tables of the last connection are stored like those of the connection behind gateways. So all code that
reads trials reads these, too. Rejected: asking the user which points are a gateway's, because the captures show it.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from netcommon.errors import EXIT_FAILED
from netcommon.ledger import Ledger
from netcommon.process import ToolError
from scenarios.trial import analysis
from scenarios.trial.captured import SERVER
from scenarios.trial.files import read_json, write_json

LEGS = "legs"  # folder of the legs, and with .json the file that lists them
CAPTURED = "captured"  # params.json's topology of such a trial
IMPORTED = "imported"  # what the manifest of its run says of the captures
MOST = 16


@dataclass(frozen=True)
class Point:
    """A capture and the name of its point."""

    name: str
    file: Path


@dataclass(frozen=True)
class Leg:
    """Two points that show a connection in common. ``path``: the folder of its tables, relative to the trial's."""

    near: int
    far: int
    path: str


@dataclass
class Found:
    """``legs``: in order of the path. ``apart``: neighbours without a connection in common, each with the reason.
    ``notes``: what pktlogger said of the captures."""

    legs: list[Leg] = field(default_factory=list)
    apart: list[tuple[str, str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def names(count: int) -> list[str]:
    """The points' names in order: snd, mid1, mid2, …, rcv. A single capture is ``end``, since it is unknown which end
    it is."""
    return ["end"] if count == 1 else ["snd", *(f"mid{number}" for number in range(1, count - 1)), "rcv"]


def digest(folder: Path, points: Sequence[Point], options: Sequence[str], ledger: Ledger) -> Found:
    """Writes the tables of a trial. LfpError when no two points have a connection in common. ``options``: those of
    ``pktlogger analyse``."""
    digested, work = Found(), _Work(folder, points, options, ledger)
    if len(points) < 3:
        _join(work, digested, 0, len(points) - 1, ".")
        digested.legs = [Leg(0, 1, ".")] if len(points) == 2 else []
    else:
        _join_neighbours(work, digested)
        connections = _connections(digested.legs)
        _name_gateways(work, digested, connections)
        _join_whole(work, digested, connections[0], ".", analysis.gateways(0, len(connections)))
        if len(connections) > 1:
            _join_whole(work, digested, connections[-1], SERVER, analysis.gateways(1, 2))
            _onto_first_clock(folder, digested.legs, connections[-1][0])
        if len(connections) == 2:
            analysis.write_through(folder)
    rows = [{"from": points[leg.near].name, "to": points[leg.far].name, "number": leg.near} for leg in digested.legs]
    write_json(folder / f"{LEGS}.json", {"v": 1, "legs": rows})
    return digested


def legs(folder: Path) -> list[tuple[Path, str, str]]:
    """The legs of a trial of captures that others made: the folder of each, and the names of its two points; empty for
    any other trial. The folders' paths are made from numbers, because no path is taken from a file of a run that
    somebody else made."""
    rows = (read_json(folder / f"{LEGS}.json") or {}).get("legs") or []
    own = folder / LEGS
    return [
        (own / str(int(row["number"])) if own.is_dir() else folder, str(row["from"]), str(row["to"])) for row in rows
    ]


@dataclass(frozen=True)
class _Work:
    folder: Path
    points: Sequence[Point]
    options: Sequence[str]
    ledger: Ledger


def _join(work: _Work, legs_found: Found, near: int, far: int, target: str) -> None:
    """Analyses the captures of two points, or of one. What pktlogger says of them becomes a note."""
    ends = [work.points[number] for number in dict.fromkeys((near, far))]
    log = work.folder / "log" / f"analyse-{ends[0].name}-{ends[-1].name}.stderr"
    try:
        analysis.join(
            [end.file for end in ends], work.folder / target, work.folder / "analysis", log, work.ledger, work.options
        )
    except ToolError as error:
        raise ToolError(_by_name(str(error), work.points), error.status) from None
    finally:
        if log.exists():
            lines = _by_name(log.read_text(encoding="utf-8", errors="replace"), work.points).splitlines()
            legs_found.notes += [line for line in lines if line not in legs_found.notes]
            log.unlink()


def _by_name(text: str, points: Sequence[Point]) -> str:
    """A text of pktlogger with the points' names instead of their files'."""
    for point in points:
        text = text.replace(str(point.file), point.name)
    return text.replace("pktlogger analyse: ", "").replace("pktlogger: ", "")


def _join_neighbours(work: _Work, digested: Found) -> None:
    for near, far in pairwise(range(len(work.points))):
        try:
            _join(work, digested, near, far, f"{LEGS}/{near}")
            digested.legs.append(Leg(near, far, f"{LEGS}/{near}"))
        except ToolError as error:
            if error.status != EXIT_FAILED:
                raise
            digested.apart.append((work.points[near].name, work.points[far].name, str(error)))
    if not digested.legs:
        raise ToolError("; ".join(f"{near} and {far}: {why}" for near, far, why in digested.apart))


def _connections(legs: Sequence[Leg]) -> list[list[Leg]]:
    """The legs of each connection: consecutive legs are one."""
    rows: list[list[Leg]] = []
    for leg in legs:
        if rows and rows[-1][-1].far == leg.near:
            rows[-1].append(leg)
        else:
            rows.append([leg])
    return rows


def _name_gateways(work: _Work, found: Found, connections: Sequence[Sequence[Leg]]) -> None:
    """Analyses the legs of connections that begin or end at a gateway once more, because only now the gateways are
    known."""
    for number, legs in enumerate(connections):
        if options := analysis.gateways(number, len(connections)):
            for leg in legs:
                _join(replace(work, options=[*work.options, *options]), found, leg.near, leg.far, leg.path)


def _join_whole(work: _Work, found: Found, legs: Sequence[Leg], target: str, options: Sequence[str]) -> None:
    """Analyses a connection from its first point to its last one."""
    if len(legs) == 1:
        shutil.copytree(work.folder / legs[0].path, work.folder / target, dirs_exist_ok=True)
        return
    _join(replace(work, options=[*work.options, *options]), found, legs[0].near, legs[-1].far, target)


def _onto_first_clock(folder: Path, legs: Sequence[Leg], behind: Leg) -> None:
    """Converts the last connection's times to the clock of the first point, as far as the legs before it give the
    offsets."""
    import pyarrow.parquet as parquet

    import pktlogger

    server = folder / SERVER
    moved = was = pktlogger.read_analysis(server)
    for leg in reversed([one for one in legs if one.near < behind.near]):
        clock = (read_json(folder / leg.path / "summary.json") or {}).get("clock") or {}
        moved = pktlogger.on_senders_clock(moved, clock)
    if moved is was:
        return
    for name in pktlogger.TABLES:
        parquet.write_table(getattr(moved, name), server / f"{name}.parquet", compression="zstd")
    write_json(server / "summary.json", moved.summary)
