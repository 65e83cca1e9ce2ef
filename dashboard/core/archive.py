"""Runs as files to download: a tar archive of their folders, and their results as CSV.

The archive is made while it is sent, so a run of many gigabytes needs no room here, neither in memory nor on disk. Left
out are trials that are not complete, and timelines that older versions kept in the run. Rejected: tar(1), because the
server starts no program.
"""

from __future__ import annotations

import fnmatch
import os
import stat
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from dashboard.core.runs import Run
from netcommon import result_rows
from netcommon.errors import LfpError

_CHUNK_BYTES = 1 << 20
LEFT_OUT = ("trials/.*", "trials/*/timeline-*")  # `timeline`: older versions kept timelines there


def archive(runs: Sequence[Run]) -> Iterator[bytes]:
    """A tar archive with a folder for each run, piece by piece. A run may be under way, so files that disappear
    meanwhile are left out."""
    for run in runs:
        folder = run.path.resolve()
        for path in (folder, *_inside(folder, folder)):
            yield from _member(path, run.name + str(path)[len(str(folder)) :])
    yield tarfile.NUL * (2 * tarfile.BLOCKSIZE)


def _inside(folder: Path, run: Path) -> Iterator[Path]:
    """The files and folders below a folder that belong into an archive."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for path in entries:
        name = str(path.relative_to(run))
        if any(fnmatch.fnmatch(name, pattern) and name.count("/") == pattern.count("/") for pattern in LEFT_OUT):
            continue
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _inside(path, run)


def _member(path: Path, name: str) -> Iterator[bytes]:
    """A folder or a file of the archive: its head, and content of the length in the head, even if the file grows or
    shrinks meanwhile. Entries of other types are left out, and no link is followed."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        found = os.fstat(opened)
        head = tarfile.TarInfo(name)
        head.mode, head.mtime = stat.S_IMODE(found.st_mode), int(found.st_mtime)
        if stat.S_ISDIR(found.st_mode):
            head.type = tarfile.DIRTYPE
        elif stat.S_ISREG(found.st_mode):
            head.size = found.st_size
        else:
            return
        yield head.tobuf(tarfile.PAX_FORMAT)
        left = head.size
        while left:
            piece = os.read(opened, min(left, _CHUNK_BYTES)) or tarfile.NUL * min(left, _CHUNK_BYTES)
            left -= len(piece)
            yield piece
        yield tarfile.NUL * (-head.size % tarfile.BLOCKSIZE)
    finally:
        os.close(opened)


def results_csv(runs: Sequence[Run]) -> bytes:
    """A row for each trial and flow of the runs, each with the run's name first. LfpError where there are no rows."""
    rows = [{"run": run.name} | row for run in runs for row in run.rows]
    if not rows:
        raise LfpError("no results yet", 2)
    return result_rows.csv(rows)
