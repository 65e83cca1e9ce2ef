"""Run directories that somebody else may have made: we follow no link in them and write nothing into them.

A run arrives as an archive, over a share, or in a folder that another user writes. A link in it could lead a reader to
any file of ours, and a writer to overwrite it; a named pipe would hold a reader for ever. So code that opens a run
first calls `refuse_links`, code that writes into a run calls `refuse_foreign`, and every file is written by
`replacing`. Rejected: opening each file without following links, because Arrow, DuckDB and tar take paths.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from netcommon.errors import EXIT_FAILED, EXIT_USAGE, LfpError

# Links in these folders belong to the system. Nobody may replace them, for example /dev/stdout.
_OF_THE_SYSTEM = (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))


def refuse_links(run: Path) -> None:
    """Raises LfpError (status 2) that names the first entry of a run which is neither a file nor a directory. The run
    itself may be a link, because the folder of runs is the user's own."""
    for entry in _entries(run):
        if entry.is_symlink() or not (entry.is_file() or entry.is_dir()):
            what = "a link" if entry.is_symlink() else "a pipe, socket or device"
            raise LfpError(f"{entry.path}: {what}, which no run holds; remove it, and ask who made the run", EXIT_USAGE)


def refuse_foreign(run: Path) -> None:
    """Raises LfpError (status 2) when another user owns a run or a directory in it: its owner could put a link where
    we are about to write."""
    folders = (Path(entry.path) for entry in _entries(run) if entry.is_dir(follow_symlinks=False))
    for folder in (run, *folders):
        owner = folder.stat().st_uid
        if owner != os.geteuid():
            raise LfpError(
                f"{folder}: belongs to another user (uid {owner}), so nothing is written into it; "
                f"copy the run first: cp -r {run} FOLDER",
                EXIT_USAGE,
            )


def read_json(path: Path) -> Any:
    """The value of a JSON file, or None when it does not exist. LfpError for a damaged file, and for something other
    than a file, such as a pipe, without waiting for it."""
    try:
        file = open(path, encoding="utf-8", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    except FileNotFoundError:
        return None
    with file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise LfpError(f"{path}: a pipe, socket or device, and no file", EXIT_FAILED)
        try:
            found = json.load(file)
        except json.JSONDecodeError as error:
            raise LfpError(f"{path}:{error.lineno}: damaged JSON ({error.msg})", EXIT_FAILED) from error
        except UnicodeDecodeError as error:
            raise LfpError(f"{path}: damaged: not UTF-8 ({error.reason})", EXIT_FAILED) from error
        except (RecursionError, ValueError) as error:
            why = "nested too deeply" if isinstance(error, RecursionError) else "a number of too many digits"
            raise LfpError(f"{path}: damaged JSON ({why})", EXIT_FAILED) from error
    return _Object(found, path) if isinstance(found, dict) else found


class _Object(dict[str, Any]):
    """The object of a JSON file. Access to a missing key raises an error that names file and key."""

    def __init__(self, content: dict[str, Any], file: Path) -> None:
        super().__init__(content)
        self._file = file

    def __missing__(self, key: str) -> Any:
        raise LfpError(f"{self._file}: damaged: no '{key}'", EXIT_FAILED)


@contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A file that replaces ``path`` when the block ends and the file is complete; after an error the old file, if any,
    remains. Its temporary name is random and new, so no link is followed. A link at ``path`` itself is replaced, except
    for links of the system, such as /dev/stdout."""
    if path.parent in _OF_THE_SYSTEM:
        with path.open("wb") as file:
            yield file
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        name = f".{path.name}.{secrets.token_hex(8)}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        opened = os.open(name, flags, mode, dir_fd=folder)
        try:
            with os.fdopen(opened, "wb") as file:
                yield file
            os.replace(name, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(name, dir_fd=folder)
            raise
    finally:
        os.close(folder)


def write_text(path: Path, text: str) -> None:
    """Writes a small file by `replacing`."""
    with replacing(path) as file:
        file.write(text.encode())


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Everything in a directory, without following links. A run may be in progress, so entries that have disappeared
    are left out."""
    try:
        with os.scandir(folder) as found:
            entries = list(found)
    except FileNotFoundError:
        return
    for entry in entries:
        yield entry
        if entry.is_dir(follow_symlinks=False):
            yield from _entries(Path(entry.path))
