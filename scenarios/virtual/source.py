"""The source of the virtual-time kernel: the newest of Debian's packages that this machine has.

User-mode Linux 7 intercepts a guest's system calls by seccomp and a word in shared memory, which is several times as
fast as ptrace. Debian 12 has no such source, but backports have. So `fetch` takes the package from there by apt, which
checks its signature, and puts it into our own folder: nothing is installed, and the machine's package lists stay as
they are. Rejected: making that change one of our own patches, because it is a quarter of the architecture's code.
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
from netcommon.ledger import cache_directory

VARIABLE = "LFP_LINUX_SOURCE"
# `fetch` takes the first of these that Debian has: backports have only one version at a time.
PACKAGES = (("linux-source-7.3", "trixie-backports"), ("linux-source-6.12", "trixie"))
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_FETCH_S = 600


def cache() -> Path:
    """The user's folder for kernels and fetched sources."""
    return cache_directory() / "virtual"


def find() -> Path:
    """The source, a tree or an archive: the one that the variable names, or else the newest archive. MissingError when
    there is none."""
    if named := os.environ.get(VARIABLE):
        if Path(named).exists():
            return Path(named)
        raise MissingError(f"{VARIABLE}={named} does not exist; name a source tree or .tar.xz, or unset it")
    archives = [
        file for folder in (Path("/usr/src"), cache() / "source") for file in folder.glob("linux-source-*.tar.xz")
    ]
    if not archives:
        what = f"{VARIABLE}, /usr/src/linux-source-*.tar.xz and {cache() / 'source'} have no Linux source"
        raise MissingError(f"{what}; run 'lfp virtual --build' where there is a network, which fetches it from Debian")
    return max(archives, key=_version)


def major(origin: Path) -> int:
    """The major version of a source, from a tree's Makefile or from an archive's name. LfpError when neither gives
    it."""
    makefile = origin / "Makefile"
    said = re.search(r"^VERSION = (\d+)", makefile.read_text(encoding="utf-8"), re.M) if makefile.exists() else None
    if found := said or re.search(r"(\d+)\.\d+", origin.name):
        return int(found[1])
    raise LfpError(f"{origin}: no version in its name; call it linux-X.Y.tar.xz, or unpack it and name the folder")


def fetch() -> None:
    """Puts the archive of the first of `PACKAGES` that is available into the cache, unless the variable names another
    source or the machine has that version or a later one. Prints what it does. Without network or apt it prints that it
    goes on with the source that there is."""
    for package, suite in PACKAGES:
        if os.environ.get(VARIABLE) or _newest() >= _version(Path(package)):
            return
        click.echo(f"== virtual-time kernel: fetching {package} of Debian's {suite}")
        try:
            return _fetch(package, suite)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            click.echo(f"== virtual-time kernel: no {package} ({error}); an older source serves, at less speed")


def _newest() -> tuple[int, ...]:
    try:
        return _version(find())
    except MissingError:
        return ()


def _fetch(package: str, suite: str) -> None:
    target = cache() / "source"
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=target) as folder:
        _run(["dpkg-deb", "-x", str(download(package, suite, Path(folder))), folder], folder)
        (archive,) = Path(folder, "usr", "src").glob("linux-source-*.tar.xz")
        shutil.move(archive, target / archive.name)


def download(package: str, suite: str, folder: Path) -> Path:
    """Puts a package of Debian's suite into the folder, and returns its file. The folder keeps the suite's lists for
    the next package of that suite. OSError or SubprocessError when that fails."""
    lists, sources_list = folder / "lists", folder / "own.list"
    options = {
        "Dir::Etc::sourcelist": sources_list,
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": lists,
        "Dir::Cache": folder,
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", "-qq", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]
    if not sources_list.exists():
        lists.mkdir()
        sources_list.write_text(
            f"deb [signed-by={_KEYRING}] http://deb.debian.org/debian {suite} main\n", encoding="utf-8"
        )
        _run([*apt, "update"], str(folder))
    _run([*apt, "download", package], str(folder))
    (file,) = folder.glob(f"{package}_*.deb")
    return file


def _run(argv: list[str], folder: str) -> None:
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=_FETCH_S)
    if done.returncode:
        raise OSError((done.stderr.strip().splitlines() or ["no output"])[-1])


def _version(archive: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", archive.name))
