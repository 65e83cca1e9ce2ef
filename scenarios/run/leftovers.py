"""Finds and removes what is left of runs that ended without cleaning up. It works from their ledgers alone.

A ledger counts when its owner is dead. A process is ended only if it has the recorded id and start time; its namespaces
and interfaces end with it. A directory is removed only by the path in the ledger.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from pathlib import Path

from netcommon.ledger import Ledger, OwnedProcess, state_directories

_END_TIMEOUT_S = 5.0


def clean(directory: Path | None = None, *, dry_run: bool = False) -> list[str]:
    """Removes leftovers; returns a phrase for each. Runs that are under way are left alone. Ledgers that cannot be read
    are reported and kept."""
    removed: list[str] = []
    folders = [directory] if directory else state_directories()
    for path in sorted(path for folder in folders for path in folder.glob("*.json")):
        try:
            ledger = Ledger.load(path)
        except ValueError as error:
            removed.append(f"nothing for {error}")
            continue
        if not ledger.owner.alive():
            removed += _clean_one(ledger, dry_run)
    for path in sorted(path for folder in folders for path in folder.glob("*.tmp")):
        removed += _clean_unfinished(path, dry_run)
    return removed


def _clean_unfinished(path: Path, dry_run: bool) -> list[str]:
    """Handles a ledger whose process was killed before it renamed the file into place. The process id is in the file's
    name. A complete ledger counts like any other."""
    pid, _, ticks = path.stem.partition("-")
    if not (pid.isdecimal() and ticks.isdecimal()) or OwnedProcess(int(pid), int(ticks), "lfp").alive():
        return []
    try:
        return _clean_one(Ledger.load(path), dry_run)
    except ValueError:
        if not dry_run:
            path.unlink(missing_ok=True)
        return [f"record {path}"]


def _clean_one(ledger: Ledger, dry_run: bool) -> list[str]:
    alive = [process for process in ledger.processes.values() if process.alive()]
    directories = [Path(name) for name in ledger.directories if Path(name).is_dir()]
    if not dry_run:
        _end(alive)
        for folder in directories:
            shutil.rmtree(folder, ignore_errors=True)
        ledger.close()
    return [
        *(f"process {process.pid} ({process.name})" for process in alive),
        *(f"directory {folder}" for folder in directories),
        f"record {ledger.path}",
    ]


def _end(processes: list[OwnedProcess]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in processes:
            if process.alive():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, number)
        deadline = time.monotonic() + _END_TIMEOUT_S
        while any(process.alive() for process in processes) and time.monotonic() < deadline:
            time.sleep(0.02)
