"""Deletes a run directory: the only thing that the dashboard ever removes, and it asks first.

The manifest goes first. A folder without a manifest is not a run, so nobody sees half a run, whatever happens next.
Rejected: renaming the folder first, which leaves a hidden one behind when the process is killed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from netcommon.errors import LfpError


def run_named(runs_dir: Path, name: str) -> Path:
    """The run of that name in `runs_dir`, without opening it. Raises LfpError (status 2) when there is none. `name` is
    looked up among the entries and never becomes a path."""
    entry = next((entry for entry in runs_dir.iterdir() if entry.name == name), None) if runs_dir.is_dir() else None
    if entry is None or not (entry / "manifest.json").is_file():
        raise LfpError(f"no run named {name} in {runs_dir}", 2)
    return entry


def delete_run(runs_dir: Path, name: str) -> None:
    """Deletes the run of that name in `runs_dir`. Raises LfpError when there is none, or when it cannot be deleted. A
    link is unlinked, and what it leads to stays."""
    entry = run_named(runs_dir, name)
    try:
        if entry.is_symlink():
            entry.unlink()
            return
        (entry / "manifest.json").unlink()
        shutil.rmtree(entry)
    except OSError as error:
        raise LfpError(f"{entry}: cannot be deleted: {error.strerror}; check who owns it", 1) from error
