"""A trial's folder as bytes, to be sent from a worker to the orchestrator.

The bytes are a compressed tar file with plain files and folders only. `unpack` trusts nothing: not the length, the
names, the kinds or the sizes. It writes into a new folder, which the caller renames when everything is there.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath

from netcommon import readable
from netcommon.errors import LfpError

PACKED_BYTES = 2**30  # largest archive: worker and orchestrator hold it in memory
UNPACKED_BYTES = 16 * 2**30
MEMBERS = 10_000
_LEVEL = 1  # captures and Parquet hardly compress, and JSON compresses at any level


def pack(folder: Path, most_bytes: int = PACKED_BYTES) -> bytes:
    """The content of ``folder``. LfpError when it is larger than ``most_bytes``."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    if sum(file.stat().st_size for file in files) > UNPACKED_BYTES:
        raise LfpError(f"the trial's files are larger than {readable.size(UNPACKED_BYTES)}; {_REMEDY}")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=_LEVEL) as tar:
        for file in sorted(files):
            tar.add(file, str(file.relative_to(folder)), recursive=False)
            if packed.tell() > most_bytes:
                raise LfpError(f"the trial's files are larger than {readable.size(most_bytes)} packed; {_REMEDY}")
    return packed.getvalue()


_REMEDY = "lower capture.snap or the number of capture.points, or run it without --scheduler"


def digest(packed: bytes) -> str:
    """The SHA-256 in hexadecimal, which is sent with the bytes."""
    return hashlib.sha256(packed).hexdigest()


def unpack(packed: bytes, sha256: str, folder: Path) -> None:
    """Writes the files into ``folder``, which must not exist. LfpError when the bytes are not those that were sent, or
    hold anything but plain files and folders below it; nothing is left in ``folder`` then."""
    if digest(packed) != sha256:
        raise LfpError("the archive of a trial is not the one that the worker sent: its SHA-256 differs")
    try:
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as tar:
            members = _checked(tar)
            folder.mkdir(parents=True)
            for member in members:
                _write(tar, member, folder / member.name)
    except (tarfile.TarError, EOFError, zlib.error, OSError, LfpError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, LfpError) or (isinstance(error, OSError) and error.errno):  # errno: the disk's, not gzip's
            raise
        raise LfpError(f"the archive of a trial cannot be read: {error}") from error


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    """Writes one member. Rejected: ``extractall`` with the data filter, which Debian 12's Python does not have."""
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    content = tar.extractfile(member)
    assert content  # a plain file has some
    with content, path.open("wb") as file:
        shutil.copyfileobj(content, file)


def _checked(tar: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """The members. LfpError when one is not allowed. They are counted while they are read, because a small archive may
    hold very many."""
    members: list[tarfile.TarInfo] = []
    left = UNPACKED_BYTES
    for member in tar:
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or not (member.isreg() or member.isdir()):
            raise LfpError(f"the archive of a trial holds '{member.name}': want plain files inside the trial's folder")
        left -= member.size
        members.append(member)
        if left < 0 or len(members) > MEMBERS:
            most = f"{MEMBERS} files of {readable.size(UNPACKED_BYTES)} together"
            raise LfpError(f"the archive of a trial holds too much; allowed are {most}")
    return members
