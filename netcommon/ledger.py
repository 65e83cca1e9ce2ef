"""A record on disk of the processes and directories of a run, so that after a crash exactly these can be removed.

A record is one small JSON file. It names the run's own process, the processes that it started, and its temporary
directories. A process is identified by its id and its start time, which together are unique. Interfaces need no record,
because their namespaces end with the processes. Every change rewrites the file and renames it into place; a normal end
deletes it. Rejected: cleaning up by name patterns, as ``mn -c`` does, which ends other users' processes.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path

from netcommon import unprivileged
from netcommon.errors import MissingError


@dataclass(frozen=True)
class OwnedProcess:
    """A process. ``started_ticks`` (field 22 of proc(5) stat) distinguishes it from a later one with the same id."""

    pid: int
    started_ticks: int
    name: str

    @classmethod
    def of(cls, pid: int, name: str) -> OwnedProcess | None:
        """The running process ``pid``, or None when it has ended."""
        ticks = started_ticks(pid)
        return None if ticks is None else cls(pid, ticks, name)

    def alive(self) -> bool:
        """True while this process runs. A zombie has ended."""
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
    """Where this user's records are: ``/run/lfp`` for root, otherwise ``$XDG_RUNTIME_DIR/lfp`` or ``/tmp/lfp-UID``.

    The folder is the same inside namespaces of our own and outside. MissingError when others may write to it.
    """
    found = _places()[0]
    if not unprivileged.is_root() and not _is_safe(found):
        raise MissingError(f"{found}: not yours alone (mode 0700); remove it, or set XDG_RUNTIME_DIR or TMPDIR")
    return found


def cache_directory() -> Path:
    """The user's cache folder: kernels and the files of long timelines, which can be rebuilt."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lfp"


def state_directories() -> list[Path]:
    """Every folder that can have records of this user. A program that cron starts has no XDG_RUNTIME_DIR, so its
    records are in a different folder from a login's. Folders of other users are left out, because records there could
    name any process."""
    return _places() if unprivileged.is_root() else [folder for folder in _places() if _is_safe(folder)]


def _places() -> list[Path]:
    """The folders in order of preference. After ``su``, XDG_RUNTIME_DIR belongs to the previous user."""
    if unprivileged.is_root():
        return [Path("/run/lfp")]
    temporary = Path(tempfile.gettempdir()) / f"lfp-{unprivileged.user()}"
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return [Path(runtime) / "lfp", temporary] if runtime and os.access(runtime, os.W_OK) else [temporary]


def _is_safe(folder: Path) -> bool:
    """Whether a folder belongs to us and to nobody else, or does not exist yet."""
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return True
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


@dataclass
class Ledger:
    """The record of one run. Use it as a context manager: its end deletes the file. Threads may share it."""

    path: Path
    owner: OwnedProcess
    processes: dict[int, OwnedProcess] = field(default_factory=dict)
    directories: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @classmethod
    def open(cls, directory: Path | None = None) -> Ledger:
        """A new record for this process. The file appears with the first process or directory in it."""
        owner = OwnedProcess.of(os.getpid(), "lfp")
        assert owner
        folder = directory or state_directory()
        return cls(folder / f"{owner.pid}-{owner.started_ticks}.json", owner)

    @classmethod
    def load(cls, path: Path) -> Ledger:
        """Reads a record that another process left. ValueError when the file is not a record."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            processes = [OwnedProcess(**row) for row in data["processes"]]
            owner = OwnedProcess(**data["owner"])
            return cls(path, owner, {p.pid: p for p in processes}, data["directories"])
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise ValueError(f"{path}: not a record of a run ({error})") from error

    def add_process(self, pid: int, name: str) -> None:
        """Records that this run started ``pid`` and may end it."""
        process = OwnedProcess.of(pid, name)
        if process:
            with self._lock:
                self.processes[pid] = process
                self._write()

    def drop_process(self, pid: int) -> None:
        """Records that ``pid`` has ended and was reaped."""
        with self._lock:
            if self.processes.pop(pid, None):
                self._write()

    def running(self) -> list[OwnedProcess]:
        """The processes of this run that have not ended."""
        with self._lock:
            return [process for process in self.processes.values() if process.alive()]

    def add_directory(self, path: Path) -> None:
        """Records a temporary directory that may be removed once this process has ended."""
        with self._lock:
            self.directories.append(str(path))
            self._write()

    def drop_directory(self, path: Path) -> None:
        """Records that the directory is gone, or that it is complete and must be kept."""
        with self._lock:
            self.directories.remove(str(path))
            self._write()

    def close(self) -> None:
        """Deletes the file, because nothing is left to clean up."""
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
