"""One virtual-time kernel for all users of a machine: a kernel that root builds is copied to a folder that everybody
can read.

The folder is named by the hash of what the project puts into a kernel. The source is not part of that hash, because
users need not have it. A user's own kernel comes first. Only root writes there, so no user runs a kernel that another
user built. Rejected: root's cache itself, because root's home is closed to others. Rejected: a folder of the checkout,
because a wheel has none.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path("/var/cache/lfp/virtual")


def path(parts: Iterable[Path]) -> Path:
    """The path of the shared kernel with these parts, whether it exists or not."""
    digest = hashlib.blake2b(digest_size=6)
    for file in parts:
        digest.update(file.read_bytes())
    return FOLDER / digest.hexdigest() / "linux"


def find(parts: Iterable[Path]) -> Path | None:
    """The shared kernel with these parts, or None."""
    found = path(parts)
    return found if os.access(found, os.X_OK) else None


def offer(image: Path, parts: Iterable[Path]) -> Path:
    """Copies a kernel to where all users find it, unless it is there already. OSError without the right to write."""
    target = path(parts)
    if target.exists() and target.read_bytes() == image.read_bytes():
        return target
    for folder in reversed((target.parent, *target.parent.parents)):
        if not folder.exists():
            folder.mkdir(mode=0o755)
            folder.chmod(0o755)  # whatever root's umask is
    temporary = target.with_name(".linux.tmp")
    shutil.copyfile(image, temporary)
    temporary.chmod(0o755)
    temporary.rename(target)
    return target
