"""hashes.json: SHA-256 of a run's files, written when the run ends, so that a later change is found.

It covers manifest.json, results.parquet and everything in trials/, superseded/ and files/. Reports are left out,
because they are made from these files and may be made again. A seal finds changes. It is not a signature: a user who
can write to the directory can seal it again. So publish the hash of hashes.json, which the dossier shows, in a place
that others control.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from netcommon.errors import LfpError
from scenarios.trial.files import read_json, write_json

NAME = "hashes.json"
VERSION = 1
_TOP = ("manifest.json", "results.parquet")
_FOLDERS = ("trials", "superseded", "files")


def sha256(file: Path) -> str:
    """A file's SHA-256 in hexadecimal, read in pieces."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def names(run_dir: Path) -> list[str]:
    """The files that a seal covers, relative to the run, sorted."""
    files = [run_dir / name for name in _TOP] + [file for name in _FOLDERS for file in (run_dir / name).rglob("*")]
    return sorted(str(file.relative_to(run_dir)) for file in files if file.is_file())


def write(run_dir: Path) -> None:
    """Seals a run that has ended."""
    write_json(run_dir / NAME, {"v": VERSION, "files": {name: sha256(run_dir / name) for name in names(run_dir)}})


def open_again(run_dir: Path) -> None:
    """Removes the seal of a run that continues, if it has one. LfpError when a file has changed since it was sealed,
    because the next seal would hide the change."""
    if (run_dir / NAME).exists():
        check(run_dir)
        (run_dir / NAME).unlink()


def read(run_dir: Path) -> dict[str, str]:
    """The sealed hashes by file. LfpError without a seal: the run has not ended, or an older lfp made it."""
    content = read_json(run_dir / NAME)
    if content is None:
        raise LfpError(f"{run_dir / NAME}: missing, so a change could not be found; finish the run or repeat it")
    found: dict[str, str] = content["files"]
    return found


def check(run_dir: Path) -> dict[str, str]:
    """The sealed hashes, after checking that the files still have them. LfpError names the first file that was changed,
    removed or added."""
    sealed = read(run_dir)
    there = names(run_dir)
    for name in sorted({*sealed, *there}):
        if name not in there:
            raise LfpError(f"{run_dir / name}: removed since the run's end; {NAME} lists it")
        if name not in sealed:
            raise LfpError(f"{run_dir / name}: added since the run's end; {NAME} does not list it")
        if sha256(run_dir / name) != sealed[name]:
            raise LfpError(f"{run_dir / name}: changed since the run's end; its SHA-256 is not the one in {NAME}")
    return sealed
