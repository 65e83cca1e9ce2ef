"""Extensions of ``lfp`` that other packages add by entry points, so that we need not import them.

``lfp.commands``: name → click command, shown among ours. ``lfp.after_run``: function(run_dir: Path) → Path or None,
which is called when a run has ended. It returns the path of the file that it wrote, and ``lfp`` shows that path.
``lfp.plots``: name → function that draws the result of one of our verbs.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from netcommon import extras
from netcommon.errors import MissingError

COMMANDS = "lfp.commands"
AFTER_RUN = "lfp.after_run"
PLOTS = "lfp.plots"


def commands() -> dict[str, EntryPoint]:
    """The commands of other packages by name, not yet imported."""
    return {point.name: point for point in entry_points(group=COMMANDS)}


def after_run(run_dir: Path) -> list[Path]:
    """Calls every hook; returns the paths of the files that they wrote."""
    points = {point.name: point for point in entry_points(group=AFTER_RUN)}
    written = [point.load()(run_dir) for point in points.values()]
    return [path for path in written if path is not None]


def plot(name: str) -> Callable[..., Any]:
    """The function that draws ``name``. MissingError where no package brings one."""
    found = {point.name: point for point in entry_points(group=PLOTS)}
    if name not in found:
        raise MissingError(f"--plot: no package here draws; {extras.install('dashboard')}")
    function: Callable[..., Any] = found[name].load()
    return function
