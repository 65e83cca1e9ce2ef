"""A trial that arrives from a worker: its folder in the run, complete or not at all."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from netcommon import run_format
from netcommon.errors import LfpError
from scenarios.cluster import archive
from scenarios.plan import params
from scenarios.plan.plan import Trial
from scenarios.trial import attempts, trial, verdicts
from scenarios.trial.files import read_json, write_json


def place(run_dir: Path, one: Trial, packed: bytes, sha256: str, host: str) -> dict[str, Any]:
    """Unpacks the trial's folder and gives it its name; returns its status. ``host``: where the trial ran. LfpError,
    with nothing left, when the archive is cut, hostile or another trial's."""
    final = trial.folder_of(run_dir, one.number)
    with attempts.whole(final) as folder:
        try:
            archive.unpack(packed, sha256, folder)
        except LfpError as error:
            raise LfpError(f"trial {one.number} from {host}: {error}") from error
        status: dict[str, Any] | None = read_json(folder / "status.json")
        if status is None or _identity(read_json(folder / "params.json")) != _identity(params.of(one)):
            raise LfpError(f"trial {one.number} from {host}: the archive is not this trial's")
        status |= {"attempt": attempts.next_attempt(final), "host": host}
        write_json(folder / "status.json", status)
    return status


def failed(run_dir: Path, one: Trial, why: str) -> dict[str, Any]:
    """The folder of a trial that no worker could measure; returns its status."""
    final, now_ns = trial.folder_of(run_dir, one.number), time.time_ns()
    status: dict[str, Any] = {
        "v": run_format.VERSION,
        "state": "failed",
        "error": why,
        "started_realtime_ns": now_ns,
        "ended_realtime_ns": now_ns,
        "attempt": attempts.next_attempt(final),
        "witness": None,
        "verdict": verdicts.of_trial([verdicts.FAILED]),
    }
    with attempts.whole(final) as folder:
        folder.mkdir()
        write_json(folder / "params.json", params.of(one))
        write_json(folder / "status.json", status)
    return status


def _identity(status: dict[str, Any] | None) -> tuple[Any, ...]:
    return tuple((status or {}).get(key) for key in ("trial", "repeat", "seed"))
