"""Attempts that a later attempt has superseded. They are kept and listed, but are in no table, figure or statistic.

They are next to ``trials/``, in ``superseded/<nnnn>.<attempt>/``, so that code that reads trials need not know of them.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from netcommon.ledger import Ledger
from scenarios.trial import verdicts
from scenarios.trial.files import read_json

FOLDER = "superseded"


def folders(run_dir: Path) -> list[Path]:
    """Folders of the superseded attempts, by trial and attempt."""
    found = [folder for folder in (run_dir / FOLDER).glob("[0-9]*.[0-9]*") if folder.is_dir()]
    return sorted(found, key=_number)


def _number(folder: Path) -> tuple[int, int]:
    trial, _, attempt = folder.name.partition(".")
    return int(trial), int(attempt)


def next_attempt(final: Path) -> int:
    """The number, from 1, of the next attempt in ``final``, a trial's folder."""
    run_dir = final.parent.parent
    return 1 + sum(_number(folder)[0] == int(final.name) for folder in folders(run_dir)) + final.is_dir()


def supersede(final: Path) -> None:
    """Moves the attempt in ``final``, if there is one, out of the trials."""
    if not final.is_dir():
        return
    kept = final.parent.parent / FOLDER / f"{final.name}.{next_attempt(final) - 1}"
    kept.parent.mkdir(exist_ok=True)
    shutil.rmtree(kept, ignore_errors=True)
    final.rename(kept)


@contextlib.contextmanager
def whole(final: Path, ledger: Ledger | None = None) -> Iterator[Path]:
    """The name of a temporary folder. It becomes the trial's when the block ends, and supersedes the attempt that was
    there; when the block fails it is removed."""
    folder = final.with_name(f".{final.name}.tmp")
    shutil.rmtree(folder, ignore_errors=True)
    if ledger:
        ledger.add_directory(folder)
    try:
        yield folder
        supersede(final)
        folder.rename(final)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if ledger:
            ledger.drop_directory(folder)


def listed(run_dir: Path) -> list[dict[str, Any]]:
    """The superseded attempts for manifest.json, an object each: trial, attempt, path in the run, state, reasons,
    causes."""
    attempts = []
    for folder in folders(run_dir):
        status = read_json(folder / "status.json") or {"state": "failed", "verdict": verdicts.of_trial([])}
        trial, attempt = _number(folder)
        verdict = status["verdict"]
        attempts.append(
            {
                "trial": trial,
                "attempt": attempt,
                "path": f"{FOLDER}/{folder.name}",
                "state": status["state"],
                "reasons": verdict["reasons"],
                "causes": verdict.get("causes") or [],
            }
        )
    return attempts


def lines(superseded: list[dict[str, Any]]) -> list[str]:
    """The manifest's list for people, one line each: ``superseded: trial 3, attempt 1: machine late 38 ms (p99)``."""
    return [
        f"superseded: trial {one['trial']}, attempt {one['attempt']}: {verdicts.short(one) or 'no reason given'}"
        for one in superseded
    ]
