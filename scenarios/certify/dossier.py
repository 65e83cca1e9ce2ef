"""dossier.json: rules, evidence, score and hashes of a run. The same run gives the same dossier, so that others can
check it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from netcommon.errors import LfpError
from scenarios.certify import distance, rules, seal, subject
from scenarios.certify.subject import Subject
from scenarios.trial.files import read_json

NAME = "dossier.json"
VERSION = 1


def make(run_dir: Path, entered: str | None = None) -> dict[str, Any]:
    """The dossier of a run that is entered on the day ``entered`` (YYYY-MM-DD); None: after the last record. LfpError
    when a file of the run has changed since its end, or no trial is valid."""
    run = subject.load(run_dir, entered)
    judged = rules.judge(run)
    return {
        "v": VERSION,
        "run": run.name,
        "title": run.manifest["title"],
        "trial": run.trial,
        "clock": run.clock,
        "started_realtime_ns": run.manifest["started_realtime_ns"],
        "family": run.family,
        "class": run.kind,
        "rate_bps": run.rate_bps,
        "distance_m": round(run.distance_m, 3),
        "score_tbit_m_per_s": round(run.score, 3),
        "entered": run.entered,
        "record": asdict(run.record),
        "route": _route(run),
        "rules": [asdict(rule) for rule in judged],
        "certified": all(rule.verdict == "holds" for rule in judged if rule.name != "R2"),
        "hashes": {
            "scenario": _of_json(run.manifest["scenario"]),
            "programs": run.manifest["hashes"],
            "files": run.hashes | {seal.NAME: seal.sha256(run_dir / seal.NAME)},
        },
    }


def text(content: dict[str, Any]) -> str:
    """The file's text."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def check(run_dir: Path, folder: Path) -> None:
    """LfpError names the file of the run, or the dossier in ``folder``, that differs from what was certified."""
    file = folder / NAME
    found = read_json(file)
    if found is None:
        raise LfpError(f"{file}: missing; write it with 'lfp certify {run_dir}'")
    covered = {*seal.names(run_dir), seal.NAME}
    for name, wanted in found["hashes"]["files"].items():
        if name not in covered or not (run_dir / name).is_file() or seal.sha256(run_dir / name) != wanted:
            raise LfpError(f"{run_dir / name}: its SHA-256 is not the one in {file}")
    if found != json.loads(text(make(run_dir, found["entered"]))):
        raise LfpError(f"{file}: not what this run gives; it was changed, or another lfp wrote it")


def _route(run: Subject) -> list[dict[str, Any]]:
    """The points of the route, each with the distance from the previous point that counts; null for the first, and for
    points that do not count."""
    legs: list[float | None] = [None, *distance.legs_m(run.route.counted)]
    left = iter(legs)
    return [
        place.model_dump() | {"leg_m": round(leg, 3) if leg is not None else None}
        for place in run.route.points
        for leg in [next(left) if place.counts else None]
    ]


def _of_json(value: Any) -> str:
    """SHA-256 of a value's canonical JSON: sorted keys, no spaces."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
