"""The virtual-time kernel's source: the newest of Debian's packages that is there, and the one we know to serve best.

Linux 7 learns of a guest's system call by seccomp and a word in shared memory instead of by ptrace, which is several
times as fast. Debian 12 has no such source; backports do, so `fetch` takes the package from there by apt, which checks
its signature, into our own folder: nothing is installed and the machine's package lists stay as they are. Rejected:
that change among our own patches, for it is a quarter of the architecture's code.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import click

from netcommon.errors import LfpError, MissingError

VARIABLE = "LFP_LINUX_SOURCE"
PACKAGE, SUITE = "linux-source-7.3", "trixie-backports"
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_FETCH_S = 600


def cache() -> Path:
    """The user's folder for kernels and fetched sources."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lfp" / "virtual"


def find() -> Path:
    """Tree or archive: what the variable names, else the newest archive. MissingError when there is none."""
    if named := os.environ.get(VARIABLE):
        if Path(named).exists():
            return Path(named)
        raise MissingError(f"{VARIABLE}={named} does not exist; name a source tree or .tar.xz, or unset it")
    archives = [
        file for folder in (Path("/usr/src"), cache() / "source") for file in folder.glob("linux-source-*.tar.xz")
    ]
    if not archives:
        raise MissingError("/usr/src/linux-source-*.tar.xz is missing; apt-get install linux-source-6.12")
    return max(archives, key=_version)


def major(origin: Path) -> int:
    """Version of a source: a tree says it in its Makefile, an archive by its name. LfpError when neither does."""
    makefile = origin / "Makefile"
    said = re.search(r"^VERSION = (\d+)", makefile.read_text(encoding="utf-8"), re.M) if makefile.exists() else None
    if found := said or re.search(r"(\d+)\.\d+", origin.name):
        return int(found[1])
    raise LfpError(f"{origin}: no version in its name; call it linux-X.Y.tar.xz, or unpack it and name the folder")


def fetch() -> None:
    """Puts the archive of `PACKAGE` into the cache unless the machine has that version or a later one, or the variable
    names another. Says what it does; without network or apt, that it goes on with what there is."""
    wanted = _version(Path(PACKAGE))
    try:
        if os.environ.get(VARIABLE) or _version(find()) >= wanted:
            return
    except MissingError:
        pass
    click.echo(f"== virtual-time kernel: fetching {PACKAGE} of Debian's {SUITE}")
    try:
        _fetch()
    except (OSError, subprocess.SubprocessError) as error:
        click.echo(f"== virtual-time kernel: no {PACKAGE} ({error}); an older source serves, at less speed")


def _fetch() -> None:
    target = cache() / "source"
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=target) as folder:
        lists, own = Path(folder, "lists"), Path(folder, "own.list")
        lists.mkdir()
        own.write_text(f"deb [signed-by={_KEYRING}] http://deb.debian.org/debian {SUITE} main\n", encoding="utf-8")
        options = {"Dir::Etc::sourcelist": own, "Dir::Etc::sourceparts": "/dev/null", "Dir::State::lists": lists,
                   "Dir::Cache": folder, "APT::Sandbox::User": "root"}  # fmt: skip
        apt = ["apt-get", "-qq", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]
        for argv in ([*apt, "update"], [*apt, "download", PACKAGE]):
            _run(argv, folder)
        (package,) = Path(folder).glob("*.deb")
        _run(["dpkg-deb", "-x", str(package), folder], folder)
        (archive,) = Path(folder, "usr", "src").glob("linux-source-*.tar.xz")
        shutil.move(archive, target / archive.name)


def _run(argv: list[str], folder: str) -> None:
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=_FETCH_S)
    if done.returncode:
        raise OSError((done.stderr.strip().splitlines() or ["no output"])[-1])


def _version(archive: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", archive.name))
