"""Where the files of long timelines are kept: in the user's cache, never in the run, which may be somebody else's. A
dashboard that root started is another user, and writes into a cache of its own (`OWN`); it reads root's, too.

Each trial has a folder there, named by a digest of its path, with a file that says the path. The cache has a limit:
before a timeline is written, those of trials that no longer exist are removed, and then the oldest ones.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from netcommon.ledger import cache_directory
from netcommon.strangers import write_text

MOST_BYTES = 32 << 30
OWN = "LFP_TIMELINES"  # environment variable: the folder to use instead of the user's
_OF = "trial"  # the file that says which trial a folder belongs to


def folder(trial: Path) -> Path:
    """The folder of a trial's timelines, as they are written. It need not exist."""
    return _root() / _name(trial)


def found(trial: Path, name: str, mark: str) -> Path:
    """The folder of a name within a trial's timelines: the one that is marked as complete, or else the one to write."""
    own = folder(trial) / name
    users = cache_directory() / "timelines" / _name(trial) / name
    return users if os.path.isfile(users / mark) and not (own / mark).is_file() else own  # noqa: PTH113 - may be closed


def _name(trial: Path) -> str:
    return hashlib.sha256(bytes(trial.resolve())).hexdigest()[:32]


def make_room(trial: Path, most_bytes: int = MOST_BYTES) -> None:
    """Makes the folder of a trial, and removes others until ``most_bytes`` are in use at most."""
    own = folder(trial)
    _root().mkdir(mode=0o700, parents=True, exist_ok=True)
    own.mkdir(exist_ok=True)
    write_text(own / _OF, str(trial.resolve()))
    others = [other for other in _root().iterdir() if other != own]
    gone = [other for other in others if not _exists(other)]
    left = sorted((other for other in others if other not in gone), key=lambda other: other.stat().st_mtime_ns)
    used = sum(map(_bytes, left))
    for other in left:
        if used > most_bytes:
            used -= _bytes(other)
            gone.append(other)
    for other in gone:
        shutil.rmtree(other)


def _root() -> Path:
    return Path(os.environ.get(OWN) or cache_directory() / "timelines")


def _exists(kept: Path) -> bool:
    try:
        return Path((kept / _OF).read_text(encoding="utf-8")).is_dir()
    except OSError:
        return False


def _bytes(kept: Path) -> int:
    return sum(file.stat().st_size for file in kept.rglob("*") if file.is_file())
