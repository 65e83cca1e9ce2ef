"""The virtual-time kernel: where it is, and how it is built (``make virtual``, ``python -m scenarios.virtual.kernel``).

Source is what `source` finds: what LFP_LINUX_SOURCE names, or the newest of Debian that is there. What is
built depends on nothing but the source, `kernel.config`, `patches/` and the congestion controls of rttcp/cc, which are
built in; their hash names the folder in the user's cache, so a kernel is built once and a changed one is another.
Rejected: Debian's user-mode-linux package, which has no time travel, and a full configuration, which takes three times
as long to build and longer to boot.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import click

from netcommon.errors import LfpError, MissingError
from scenarios.virtual import source

FOLDER = Path(__file__).resolve().parent
CONGESTION = FOLDER.parents[1] / "rttcp" / "cc"
CONFIG = FOLDER / "kernel.config"
KERNEL_VARIABLE = "LFP_VIRTUAL_KERNEL"
NEEDED = {"xz": "xz-utils"} | {name: name for name in ("flex", "bison", "bc", "make", "gcc", "patch")}
_NOW_CALLED = {"CONFIG_PROC_SYSCTL=y": "CONFIG_SYSCTL=y"}  # by later sources
_OBJECTS = 890  # about what one build compiles, for the progress shown
_REMEDY = "run 'make virtual' (about 5 minutes, once)"


def patches(major: int) -> list[Path]:
    """What is changed in the source of a major version, in order. A patch in the folder of that version is in the place
    of the one of the same name; one without a diff says that the source needs none."""
    folders = FOLDER / "patches", FOLDER / "patches" / str(major)
    found = {file.name: file for folder in folders for file in folder.glob("*.patch")}
    return [found[name] for name in sorted(found) if "\n+++ " in found[name].read_text(encoding="utf-8")]


def congestion_files() -> dict[str, Path]:
    """The congestion controls of rttcp: name under net/ipv4 to file."""
    headers = {f"algo/{file.name}": file for file in sorted((CONGESTION / "algo").glob("*.h"))}
    return headers | {"tcp_glue.h": CONGESTION / "tcp_glue.h", "tcp_lfp.c": CONGESTION / "kernel" / "tcp_lfp.c"}


def path() -> Path:
    """Where the kernel is, or would be, in the cache."""
    if named := os.environ.get(KERNEL_VARIABLE):
        return Path(named)
    return source.cache() / _key(source.find()) / "linux"


def missing() -> str | None:
    """Why no trial can run in virtual time here, or None."""
    try:
        where = path()
    except MissingError as error:
        return f"the virtual-time kernel is not built: {error}"
    return None if os.access(where, os.X_OK) else f"the virtual-time kernel is not built ({where}); {_REMEDY}"


def require() -> Path:
    """The kernel; MissingError with what to do."""
    if why := missing():
        raise MissingError(f"--time virtual: {why}")
    return path()


def version(image: Path) -> str:
    """What `uname -r` says inside, with the machine: the manifest's ``kernel``."""
    done = subprocess.run([str(image), "--version"], capture_output=True, text=True, timeout=10)
    return f"Linux {done.stdout.strip() or '?'} um x86_64"


def build(jobs: int) -> Path:
    """Builds the kernel unless the cache has it; says what it does. The source is unpacked beside it and removed."""
    target = path()
    if os.access(target, os.X_OK):
        click.echo(f"== virtual-time kernel: {target}")
        return target
    for program, package in NEEDED.items():
        if not shutil.which(program):
            raise MissingError(f"program {program}: not found; apt-get install {package}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="build-", dir=target.parent) as folder:
        tree = _unpacked(source.find(), Path(folder))
        for patch in patches(source.major(source.find())):
            _quietly(["patch", "-p1", "-s", "-i", str(patch)], tree)
        _add_congestion(tree)
        _configure(tree)
        _compile(tree, jobs)
        shutil.copy2(tree / ".config", target.with_name("config"))
        temporary = target.with_name(".linux.tmp")
        shutil.copy2(tree / "linux", temporary)
        _quietly(["strip", "--strip-debug", str(temporary)], tree)
        temporary.rename(target)
    click.echo(f"== virtual-time kernel: {target}")
    return target


def _key(origin: Path) -> str:
    """Hash of all that the kernel depends on; of an archive size and date stand for its content."""
    stat = origin.stat()
    digest = hashlib.blake2b(f"{origin}:{stat.st_size}:{stat.st_mtime_ns}".encode(), digest_size=6)
    for file in (CONFIG, *patches(source.major(origin)), *congestion_files().values()):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _unpacked(origin: Path, folder: Path) -> Path:
    tree = folder / "linux"
    click.echo(f"== virtual-time kernel: unpacking {origin}")
    if origin.is_dir():
        shutil.copytree(origin, tree, symlinks=True)
    else:
        tree.mkdir()
        _quietly(["tar", "-xf", str(origin), "--strip-components=1", "-C", str(tree)], folder)
    return tree


def _add_congestion(tree: Path) -> None:
    target = tree / "net" / "ipv4"
    (target / "algo").mkdir()
    for name, file in congestion_files().items():
        shutil.copyfile(file, target / name)
    with (target / "Makefile").open("a", encoding="utf-8") as makefile:
        makefile.write("obj-y += tcp_lfp.o\n")


def _configure(tree: Path) -> None:
    _quietly(["make", "ARCH=um", f"KCONFIG_ALLCONFIG={CONFIG}", "allnoconfig"], tree)
    got = set((tree / ".config").read_text(encoding="utf-8").splitlines())
    wanted = [line for line in CONFIG.read_text(encoding="utf-8").splitlines() if line.startswith("CONFIG_")]
    if lacking := [line for line in wanted if line not in got and _NOW_CALLED.get(line) not in got]:
        raise LfpError(f"{CONFIG}: this source does not take {', '.join(lacking)}; use another source or correct it")


def _compile(tree: Path, jobs: int) -> None:
    """Compiles with a line of progress; the last lines of the log when it fails."""
    argv = ["make", "ARCH=um", f"-j{jobs}", "linux"]
    process = subprocess.Popen(argv, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout
    lines: list[str] = []
    compiled = 0
    for line in process.stdout:
        lines.append(line.rstrip())
        if line.startswith("  CC"):
            compiled += 1
            if compiled % (_OBJECTS // 10) == 0:
                click.echo(f"== virtual-time kernel: {min(compiled * 100 // _OBJECTS, 99)} % compiled")
    if process.wait():
        errors = [line for line in lines if "rror" in line][:1] or lines[-1:]
        raise LfpError(f"building the virtual-time kernel failed: {errors[0]}")


def _quietly(argv: list[str], folder: Path) -> None:
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no output"]
        raise LfpError(f"{' '.join(argv[:2])} failed: {said[0]}")


def main() -> int:
    """What ``make virtual`` runs; ``--path`` only says where."""
    try:
        if sys.argv[1:] == ["--path"]:
            click.echo(path())
        else:
            source.fetch()
            build(os.cpu_count() or 1)
    except LfpError as error:
        click.echo(f"virtual-time kernel: {error}", err=True)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
