"""What a run owns, on disk while it lives, so that a crash leaves a list of exactly what may be removed.

A record is one small JSON file: its owner, the processes it started (id and start time, which together name a process
for good) and its temporary directories. Interfaces need no record: they are made in namespaces that end with the
processes. It is rewritten on every change by rename, and deleted at an orderly end. The rejected alternative, cleaning
by name patterns as ``mn -c`` does, ends strangers' processes.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

from netcommon import unprivileged
from netcommon.errors import MissingError


@dataclass(frozen=True)
class OwnedProcess:
    """A process, not to be confused with a later one of the same id. ``started_ticks``: field 22 of proc(5) stat."""

    pid: int
    started_ticks: int
    name: str

    @classmethod
    def of(cls, pid: int, name: str) -> OwnedProcess | None:
        """The live process ``pid``, or None when it has ended."""
        ticks = started_ticks(pid)
        return None if ticks is None else cls(pid, ticks, name)

    def alive(self) -> bool:
        """True while this very process runs (zombies have ended)."""
        return started_ticks(self.pid) == self.started_ticks


def started_ticks(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot; None when it has ended or is a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    after_name = stat.rpartition(")")[2].split()
    return None if after_name[0] in "ZX" else int(after_name[19])


def state_directory() -> Path:
    """Where this user's records are: ``/run/lfp`` for root, else ``$XDG_RUNTIME_DIR/lfp`` or ``/tmp/lfp-UID``.

    The same in namespaces of our own as outside. MissingError when the last one is there and not ours alone.
    """
    found = _places()[0]
    if not unprivileged.is_root() and not _is_safe(found):
        raise MissingError(f"{found}: not yours alone (mode 0700); remove it, or set XDG_RUNTIME_DIR or TMPDIR")
    return found


def state_directories() -> list[Path]:
    """Every place where records of this user can be: a program that cron starts has no XDG_RUNTIME_DIR, so they are
    in another place than a login's. What is another user's is left out, for its records could name anything."""
    return _places() if unprivileged.is_root() else [folder for folder in _places() if _is_safe(folder)]


def _places() -> list[Path]:
    """In order of preference. XDG_RUNTIME_DIR is somebody else's after ``su``."""
    if unprivileged.is_root():
        return [Path("/run/lfp")]
    temporary = Path(tempfile.gettempdir()) / f"lfp-{unprivileged.user()}"
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return [Path(runtime) / "lfp", temporary] if runtime and os.access(runtime, os.W_OK) else [temporary]


def _is_safe(folder: Path) -> bool:
    """Whether a folder is ours alone, or nobody has made it yet."""
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return True
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


@dataclass
class Ledger:
    """One run's record. Use as a context manager: leaving it in order deletes the file."""

    path: Path
    owner: OwnedProcess
    processes: dict[int, OwnedProcess] = field(default_factory=dict)
    directories: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, directory: Path | None = None) -> Ledger:
        """A new record for this process. Its file appears with the first thing owned."""
        owner = OwnedProcess.of(os.getpid(), "lfp")
        assert owner
        folder = directory or state_directory()
        return cls(folder / f"{owner.pid}-{owner.started_ticks}.json", owner)

    @classmethod
    def load(cls, path: Path) -> Ledger:
        """A record as another process left it; ValueError when the file is not one."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            processes = [OwnedProcess(**row) for row in data["processes"]]
            owner = OwnedProcess(**data["owner"])
            return cls(path, owner, {p.pid: p for p in processes}, data["directories"])
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise ValueError(f"{path}: not a record of a run ({error})") from error

    def add_process(self, pid: int, name: str) -> None:
        """From now on ``pid`` is ours to end."""
        process = OwnedProcess.of(pid, name)
        if process:
            self.processes[pid] = process
            self._write()

    def drop_process(self, pid: int) -> None:
        """``pid`` has been reaped."""
        if self.processes.pop(pid, None):
            self._write()

    def add_directory(self, path: Path) -> None:
        """A temporary directory that is of no use once this process has ended."""
        self.directories.append(str(path))
        self._write()

    def drop_directory(self, path: Path) -> None:
        """The directory is gone, or complete and kept."""
        self.directories.remove(str(path))
        self._write()

    def close(self) -> None:
        """Forget everything: nothing is left that clean-up would have to look for."""
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        data = {
            "owner": asdict(self.owner),
            "processes": [asdict(p) for p in self.processes.values()],
            "directories": self.directories,
        }
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(json.dumps(data), encoding="utf-8")
        temporary.rename(self.path)
