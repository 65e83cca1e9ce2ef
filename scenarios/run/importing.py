"""Makes a run of captures that others made (`lfp import`).

The run has one trial, which has the same files as any trial. What captures cannot know is absent: settings are null,
and there is no delay.json, transfer.json, gateway.json or tcp_info.parquet. The run is written under a temporary name
and renamed when it is complete. Captures are copied into the run, so that it stands alone. Rejected: links to the
captures. The target of a link may be changed or removed, and runs hold no links (netcommon/strangers.py).
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from netcommon import binaries, readable, run_format
from netcommon.errors import LfpError, UsageError
from netcommon.ledger import Ledger
from netcommon.process import Tool
from scenarios.certify import seal
from scenarios.plan import columns
from scenarios.run import machine, manifest, results, runner, runs
from scenarios.run.imported import STDIN
from scenarios.trial import analysis, points, trial, verdicts
from scenarios.trial.files import read_json, write_json
from scenarios.trial.points import Found, Point
from scenarios.trial.verdicts import Reason

_PIECE = 1 << 20
_ENDING = re.compile(r"(\.(pcap|pcapng|cap|dmp|pcapng?\d+))?(\.(gz|xz|lz4|zst))?$", re.IGNORECASE)


@dataclass(frozen=True)
class Wanted:
    """What `lfp import` was asked for. ``captures``: files in the order in which the data pass them, or `STDIN`.
    ``clock``: as ``pktlogger analyse --clock`` takes it. ``keep``: the run holds copies of the captures. ``key``: a
    file with the key for ``anonymise``; None: a random key."""

    captures: Sequence[str]
    name: str = "import"
    title: str = ""
    clock: str = "estimate"
    tunnels: bool = False
    keep: bool = True
    anonymise: bool = False
    key: Path | None = None


def make(wanted: Wanted, runs_dir: Path) -> Path:
    """Makes the run and returns its directory; after an error nothing is left. LfpError says what was wrong."""
    _check(wanted)
    run_dir = runs.named(runs_dir, wanted.name)
    began_ns = time.time_ns()
    with runner.owned() as (ledger, scratch), _whole(run_dir, ledger) as folder:
        trial_folder = trial.folder_of(folder, 0)
        (trial_folder / "capture").mkdir(parents=True)
        (trial_folder / "log").mkdir()
        options = ["--clock", wanted.clock, *(["--tunnels"] if wanted.tunnels else [])]
        captures, files = _taken(wanted, trial_folder / "capture", scratch, ledger)
        found = points.digest(trial_folder, captures, options if len(captures) > 1 else options[2:], ledger)
        if not wanted.keep:
            shutil.rmtree(trial_folder / "capture")
        (trial_folder / "log").rmdir()
        status = _write_trial(trial_folder, [point.name for point in captures], found, began_ns)
        results.write(folder, results.rows(trial_folder))
        manifest.write(folder, _manifest(wanted, files, found, trial_folder, status))
        seal.write(folder)
    return run_dir


def _check(wanted: Wanted) -> None:
    """UsageError for what cannot be imported."""
    captures = wanted.captures
    if not 1 <= len(captures) <= points.MOST:
        raise UsageError(f"import: {len(captures)} captures; want 1 to {points.MOST}, in the order of the path")
    twice = next((one for one in captures if captures.count(one) > 1), None)
    if twice is not None:
        raise UsageError(f"import: '{twice}' is given twice; want a capture for each point")
    if len(captures) == 1 and wanted.clock != "estimate":
        raise UsageError(f"--clock {wanted.clock}: with one capture there is one clock; leave it out")
    if wanted.key and not wanted.anonymise:
        raise UsageError(f"--key {wanted.key}: only with --anonymise")


@contextmanager
def _whole(run_dir: Path, ledger: Ledger) -> Iterator[Path]:
    """The run's directory under a temporary name, which becomes the run at the end of the block."""
    folder = run_dir.with_name(f".{run_dir.name}.tmp")
    try:
        (folder / "trials").mkdir(parents=True)
    except OSError as error:
        raise UsageError(f"--runs-dir {run_dir.parent}: {error.strerror}") from error
    ledger.add_directory(folder)
    try:
        yield folder
        folder.rename(run_dir)
    except OSError as error:
        raise LfpError(f"{error.filename or run_dir}: {error.strerror}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        ledger.drop_directory(folder)


Json = dict[str, Any]


def _taken(wanted: Wanted, folder: Path, scratch: Path, ledger: Ledger) -> tuple[list[Point], list[Json]]:
    """The captures as they will be analysed, each with its entry for the manifest."""
    captures, said = [], []
    secret = _key(wanted, scratch) if wanted.anonymise else None
    for name, text in zip(points.names(len(wanted.captures)), wanted.captures, strict=True):
        source = _spooled(scratch / name) if text == STDIN else Path(text)
        members = _members(source)
        ending = _ending(source.name) if text != STDIN else ".pcap"
        point = folder / f"{name}{ending}"
        one: Json = {"point": name, "bytes": sum(member.stat().st_size for member in members)}
        if secret:
            point = folder / f"{name}.pcapng"
            one |= {"sha256": _sha256(members)}
            one |= {"anonymised": _anonymised(source, point, secret, wanted.tunnels, ledger)}
        else:
            one |= {"file": text if text == STDIN else str(source.resolve())}
            if wanted.keep:
                one |= {"sha256": _copied(members, source, point)}
            else:
                one |= {"sha256": _sha256(members)}
                point = source
        captures.append(Point(name, point))
        said.append(one | ({"kept": f"trials/0000/capture/{point.name}"} if wanted.keep else {}))
    return captures, said


def _members(source: Path) -> list[Path]:
    """The files of a capture: one, or those of a set (pktlogger(1), --rotate-size)."""
    if source.is_file():
        return [source]
    if source.exists():
        raise UsageError(f"import: '{source}': not a file; want captures, or - for standard input")
    pattern = re.compile(rf"{re.escape(source.stem)}_\d{{5}}_\d{{14}}{re.escape(source.suffix)}")
    there = (one for one in sorted(source.parent.glob("*")) if pattern.fullmatch(one.name))
    found = [one for one in there if one.is_file() and not one.is_symlink()]  # the user named the link, not its target
    if not found:
        raise UsageError(f"import: '{source}': No such file")
    return found


def _ending(name: str) -> str:
    """The ending of a file's name, such as ``.pcap.gz``; ``.pcap`` where the name has none."""
    found = _ENDING.search(name)
    ending = found.group(0) if found else ""
    return ending if found and found.group(1) else f".pcap{ending}"


def _spooled(target: Path) -> Path:
    """Standard input as a file, since a capture is read more than once."""
    with target.open("xb") as file:
        _pour(sys.stdin.buffer, file)
    return target


def _copied(members: Sequence[Path], source: Path, target: Path) -> str:
    """Copies a capture or a set, and returns the SHA-256 of what was copied."""
    digest = hashlib.sha256()
    for member in members:
        number = member.name.removeprefix(source.stem).removesuffix(source.suffix) if len(members) > 1 else ""
        with member.open("rb") as opened, target.with_stem(f"{target.stem}{number}").open("xb") as file:
            _pour(opened, file, digest)
    return digest.hexdigest()


def _sha256(members: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for member in members:
        with member.open("rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
    return digest.hexdigest()


def _pour(source: BinaryIO, target: BinaryIO, digest: Any = None) -> None:
    while piece := source.read(_PIECE):
        target.write(piece)
        if digest:
            digest.update(piece)


def _key(wanted: Wanted, scratch: Path) -> Path:
    """The file with the key: the user's, or a random one that is deleted when the import ends."""
    if wanted.key:
        return wanted.key
    key = scratch / "key"
    descriptor = os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(32) + "\n")
    return key


def _anonymised(source: Path, target: Path, key: Path, tunnels: bool, ledger: Ledger) -> Json:
    """Writes the capture without addresses, ports and payload. Returns a description of what was left out."""
    argv = [str(binaries.find("pktlogger")), "anonymise", str(source), "--write", str(target), "--key", str(key)]
    with Tool([*argv, *(["--tunnels"] if tunnels else [])], name="pktlogger anonymise", ledger=ledger) as tool:
        end = tool.finish(analysis.ANALYSE_TIMEOUT_S)
    return {name: end[name] for name in ("frames", "packets", "truncated")}


def _write_trial(folder: Path, names: Sequence[str], found: Found, began_ns: int) -> Json:
    """Writes params.json and status.json. Returns the status."""
    params: Json = {"v": run_format.VERSION, "trial": 0, "repeat": 0, "seed": None, **dict.fromkeys(columns.settings())}
    gateway = "unknown" if found.apart else "none"
    params |= {"topology": points.CAPTURED, "capture": ",".join(names), "gateway": gateway}
    status: Json = {
        "v": run_format.VERSION,
        "state": "done",
        "error": None,
        "started_realtime_ns": began_ns,
        "attempt": 1,
        "witness": None,
        "asked": [],
        "clock": None,
        "ended_realtime_ns": time.time_ns(),
        "verdict": verdicts.of_trial(_reasons(folder)),
    }
    write_json(folder / "params.json", params)
    write_json(folder / "status.json", status)
    return status


def _reasons(folder: Path) -> Iterator[Reason]:
    """Why the captures lack packets that passed the points. Nothing else about a third party's capture can be
    judged."""
    summary = read_json(folder / "summary.json") or {}
    for end, capture in (summary.get("captures") or {}).items():
        if not capture:
            continue
        drops = capture.get("drops") or {}
        missing = sum(int(drops.get(name) or 0) for name in ("kernel", "interface", "process"))
        if capture.get("truncated"):
            yield Reason("incomplete", f"the capture at the {end} is cut", "capture cut")
        if missing:
            text = f"the capture at the {end} lacks {readable.count(missing)} packets that it dropped"
            yield Reason("incomplete", text, "capture dropped packets")
    unseen = sum(int(flow.get("unseen") or 0) for flow in summary.get("flows") or ())
    if unseen:
        text = f"the receiver's capture lacks {readable.count(unseen)} packets that arrived"
        yield Reason("incomplete", text, "capture lacks packets")


def _manifest(wanted: Wanted, files: list[Json], digested: Found, folder: Path, status: Json) -> Json:
    """The usual manifest, with a description of the captures under `points.IMPORTED`. An anonymised run does not
    describe the machine that made it."""
    hidden, tools = wanted.anonymise, {"pktlogger": binaries.find("pktlogger")}
    sources = [Path(one["file"]).name for one in files if one.get("file") not in (None, STDIN)]
    title = wanted.title or ("Imported captures" + (f": {', '.join(sources)}" if sources else ""))
    return {
        "v": run_format.VERSION,
        "name": wanted.name,
        "title": title,
        "paper": "",
        "state": "done",
        "quick": False,
        "scenario": {"scenario": {"name": wanted.name, "title": title}},
        "seed": None,
        "plan": 1,
        "started_realtime_ns": status["started_realtime_ns"],
        "ended_realtime_ns": status["ended_realtime_ns"],
        "clock": None,
        "machine": {} if hidden else machine.describe(),
        "kernel": "" if hidden else machine.kernel(),
        "versions": machine.versions(),
        "hashes": machine.hashes(tools),
        "commits": machine.commits(tools),
        "sysctls": {},
        "offloads": {},
        "superseded": [],
        "expected": [],
        "verdict": verdicts.of_run([status["verdict"]], 1),
        points.IMPORTED: {
            "files": files,
            "clock": wanted.clock if len(files) > 1 else None,
            "clocks": list(_clocks(folder, digested, files)),
            "tunnels": wanted.tunnels,
            "apart": [{"from": near, "to": far, "why": why} for near, far, why in digested.apart],
            "notes": digested.notes,
            "anonymised": {"key": "given" if wanted.key else "random"} if hidden else None,
        },
    }


def _clocks(folder: Path, found: Found, files: Sequence[Json]) -> Iterator[Json]:
    """Each leg's estimate of its receiver's clock relative to its sender's."""
    for leg in found.legs:
        summary = read_json(folder / leg.path / "summary.json") or {}
        ends = {"from": files[leg.near]["point"], "to": files[leg.far]["point"]}
        yield ends | (summary.get("clock") or {})
