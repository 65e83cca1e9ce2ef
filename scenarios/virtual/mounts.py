"""Mounts of a guest, and the root that a command of ``lfp virtual`` has. Runs in the guest."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

_BIND, _MOVE, _RECURSIVE = 0x1000, 0x2000, 0x4000
_UPPER, _WORK, _ROOT = Path("/run/upper"), Path("/run/work"), Path("/run/root")

_libc = ctypes.CDLL(None, use_errno=True)


def mount(kind: str, target: str | Path, options: str = "", *, flags: int = 0, source: str = "") -> None:
    """mount(2). The OSError has source and target."""
    if _libc.mount((source or kind).encode(), bytes(Path(target)), kind.encode(), flags, options.encode()):
        raise OSError(ctypes.get_errno(), f"mount {source or kind} on {target}")


def bind(source: str | Path, target: str | Path, *, whole: bool = False) -> None:
    """Bind-mounts a file or folder. ``whole``: with the mounts below it."""
    mount("", target, flags=_BIND | (_RECURSIVE if whole else 0), source=str(source))


def changeable(folder: str, layers: Path) -> None:
    """Lets programs change the files in a folder of the host's. The changes are copies in memory, in ``layers``."""
    upper, work = layers / "upper", layers / "work"
    for one in (upper, work):
        one.mkdir(parents=True)
    mount("overlay", folder, f"lowerdir={folder},upperdir={upper},workdir={work}")


def own_root(writable: Iterable[str], share: str) -> None:
    """Gives this process and its children a root with the host's files, all of which they may change: a changed file is
    a copy in memory, which ends with the guest. Changes in the folders ``writable`` are made on the host. ``share``
    stays where it is."""
    for folder in (_UPPER, _WORK, _ROOT):
        folder.mkdir()
    mount("overlay", _ROOT, f"lowerdir=/,upperdir={_UPPER},workdir={_WORK}")
    for name in ("proc", "sys", "dev"):
        bind(f"/{name}", _ROOT / name, whole=True)
    bind("/run", _ROOT / "run")  # not the mounts below it: the new root is one of them
    bind(share, f"{_ROOT}{share}")
    for kept in writable:
        mount("hostfs", f"{_ROOT}{kept}", kept)
    os.chdir(_ROOT)
    mount("", "/", flags=_MOVE, source=".")
    os.chroot(".")
