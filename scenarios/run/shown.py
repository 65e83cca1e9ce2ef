"""What ``lfp show`` printed of a run, kept in the user's cache until the run or the code that made it changes.

Making the view takes 0.5 s of CPU time, most of it for loading the model and Arrow; printing it again takes 0.1 s. A
view's name is a hash of the path, size and time of every file of the run and of the code, so a view is never older than
what it shows. Rejected: a file in the run, which a reader may not be able to write, and a stranger could have put
there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from netcommon.ledger import cache_directory
from netcommon.strangers import write_text

_CODE = Path(__file__).resolve().parents[2]
_PACKAGES = ("netcommon", "comet_delay", "rttcp", "pktlogger", "lft_ref", "scenarios")
_MOST = 300  # views that are kept


def read(run_dir: Path) -> list[Any] | None:
    """The view of a run; None where none is kept."""
    try:
        view: list[Any] = json.loads(_file(run_dir).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return view


def keep(run_dir: Path, view: Sequence[Any]) -> None:
    """Stores a view and removes the oldest when there are too many. Write errors are ignored."""
    with contextlib.suppress(OSError):
        file = _file(run_dir)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, json.dumps(view, ensure_ascii=False))
        files = sorted(file.parent.glob("*.json"), key=lambda one: one.stat().st_mtime_ns)
        for old in files[:-_MOST]:
            old.unlink(missing_ok=True)


def _file(run_dir: Path) -> Path:
    digest = hashlib.sha256(f"{run_dir}\0{run_dir.resolve()}".encode())
    for folder in (run_dir, *(_CODE / package for package in _PACKAGES)):
        for line in _stats(folder):
            digest.update(line.encode(errors="surrogateescape"))
    return cache_directory() / "shown" / f"{digest.hexdigest()[:32]}.json"


def _stats(folder: str | Path) -> Iterator[str]:
    """A line for each file below a folder. Compiled modules are left out: they change when they are first loaded."""
    for one in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if one.is_dir(follow_symlinks=False):
            if one.name not in ("__pycache__", "src"):
                yield from _stats(one.path)
        else:
            stat = one.stat(follow_symlinks=False)
            yield f"{one.path}\0{stat.st_size}\0{stat.st_mtime_ns}\n"
