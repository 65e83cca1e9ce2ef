"""What pages may change in a runs directory: runs are deleted and tagged, and demonstrations started. This is all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from dashboard.classroom.demonstration import Demonstrations, OfferedDemonstrations
from dashboard.core import tags
from dashboard.core.delete import delete_run, run_named


class Offered(Protocol):
    """The changes, as pages ask for them. A name is a run's name. LfpError says why there was no change."""

    @property
    def demonstrations(self) -> OfferedDemonstrations: ...

    def delete(self, name: str) -> None: ...

    def tag(self, name: str, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None: ...


class Changes:
    """Changes in `runs_dir` that this process makes."""

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = runs_dir
        self.demonstrations = Demonstrations(runs_dir)

    def delete(self, name: str) -> None:
        """Deletes a run."""
        delete_run(self._runs_dir, name)

    def tag(self, name: str, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """Adds and removes tags of a run."""
        tags.change(run_named(self._runs_dir, name), add=add, remove=remove)
