"""Run directories: creating them, finding them by path, name or ``last``, and reading them."""

from __future__ import annotations

import difflib
import os
import secrets
import time
from pathlib import Path
from typing import Any

from netcommon import run_format
from netcommon.errors import LfpError, UsageError
from netcommon.strangers import refuse_links
from scenarios.trial.files import read_json

DIRECTORY = "LFP_RUNS_DIR"  # environment variable with the folder of runs, for every verb and for Python


def directory(given: str | Path | None = None) -> Path:
    """The folder of runs: the given one, the environment variable's, or ``runs``."""
    return Path(given or os.environ.get(DIRECTORY) or "runs")


def named(runs_dir: Path, scenario: str) -> Path:
    """The path of a new run, ``<scenario>-<YYYYmmddTHHMMSS>-<id>``; local time."""
    return runs_dir / f"{scenario}-{time.strftime('%Y%m%dT%H%M%S')}-{secrets.token_hex(3)}"


def create(runs_dir: Path, scenario: str) -> Path:
    """The directory of a new run, with an empty ``trials``."""
    run_dir = named(runs_dir, scenario)
    try:
        (run_dir / "trials").mkdir(parents=True)
    except OSError as error:
        raise UsageError(f"--runs-dir {runs_dir}: {error.strerror}") from error
    return run_dir


def find(text: str, runs_dir: Path) -> Path:
    """The run that a path, a run's name or ``last`` means. UsageError when there is none; LfpError when it has links,
    which a stranger may have put there."""
    run = _named(text, runs_dir)
    refuse_links(run)
    manifest(run)
    return run


def _named(text: str, runs_dir: Path) -> Path:
    if text == "last":
        started = {run: _started_ns(run) for run in _all(runs_dir)}
        known = {run: ns for run, ns in started.items() if ns is not None}
        if not known:
            raise UsageError(f"run 'last': no runs in {runs_dir}; make one with 'lfp run', or give --runs-dir")
        return max(known, key=known.__getitem__)
    for candidate in (Path(text), runs_dir / text):
        if (candidate / "manifest.json").is_file():
            return candidate
    near = difflib.get_close_matches(Path(text).name, [run.name for run in _all(runs_dir)], 1)
    hint = f" — did you mean '{near[0]}'? or" if near else ";"
    raise UsageError(
        f"run '{text}': not the path of a run, and no run of this name in the folder {runs_dir.resolve()}{hint} name "
        "another folder with --runs-dir"
    )


def manifest(run_dir: Path) -> dict[str, Any]:
    """The run's manifest.json. LfpError for a run that a later lfp wrote."""
    content = _manifest(run_dir)
    run_format.check(run_dir, content)
    return content


def _manifest(run_dir: Path) -> dict[str, Any]:
    content = read_json(run_dir / "manifest.json")
    if not isinstance(content, dict):
        raise LfpError(f"{run_dir / 'manifest.json'}: damaged: one JSON object expected")
    return content


def _started_ns(run_dir: Path) -> int | None:
    """When a run started. None for one whose manifest is damaged, so that the other runs are still found."""
    try:
        found = _manifest(run_dir).get("started_realtime_ns")
    except (LfpError, OSError):
        return None
    return found if isinstance(found, int) else None


def trial_folders(run_dir: Path) -> list[Path]:
    """The folders of the complete trials, by number."""
    return sorted(folder for folder in (run_dir / "trials").iterdir() if folder.name.isdigit())


def _all(runs_dir: Path) -> list[Path]:
    return [path.parent for path in runs_dir.glob("*/manifest.json") if path.is_file() and not path.is_symlink()]
