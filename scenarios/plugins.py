"""What other packages add to ``lfp`` without our importing them: entry points.

``lfp.commands``: name → click command, shown among ours. ``lfp.after_run``: function(run_dir: Path) → Path or None,
called when a run has ended; the path is of what it wrote, and is shown.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

COMMANDS = "lfp.commands"
AFTER_RUN = "lfp.after_run"


def commands() -> dict[str, EntryPoint]:
    """Commands of other packages by name; nothing is imported."""
    return {point.name: point for point in entry_points(group=COMMANDS)}


def after_run(run_dir: Path) -> list[Path]:
    """Calls every hook; paths of the files they wrote."""
    written = [point.load()(run_dir) for point in entry_points(group=AFTER_RUN)]
    return [path for path in written if path is not None]
