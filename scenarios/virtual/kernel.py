"""The virtual-time kernel: where it is, and how it is built (``lfp virtual --build``, ``make virtual``).

`source` finds the source: the one that LFP_LINUX_SOURCE names, or the newest of Debian's that is installed or fetched.
The kernel depends only on the source, `kernel.config`, `patches/`, the congestion controls of rttcp/cc and the delay
box (`box_source`), which are built in. Their hash names its folder in the user's cache, so a kernel is built once, and
a changed one gets a folder of its own. A kernel that root builds serves every user of the machine (`machine_wide`). The
build compiles only what guests use, and most of it from headers that are read once (`headers`). Rejected: Debian's
user-mode-linux package, which has no time travel. Rejected: a full configuration, which takes three times as long to
build and longer to boot.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import click

from netcommon import unprivileged
from netcommon.errors import LfpError, MissingError
from scenarios.plan.estimate import spoken
from scenarios.virtual import box_source, headers, machine_wide, source

FOLDER = Path(__file__).resolve().parent
CONGESTION = FOLDER.parents[1] / "rttcp" / "cc"
CONFIG = FOLDER / "kernel.config"
KERNEL_VARIABLE = "LFP_VIRTUAL_KERNEL"
NEEDED = {"xz": "xz-utils"} | {name: name for name in ("flex", "bison", "bc", "make", "gcc", "patch")}
_NOW_CALLED = {"CONFIG_PROC_SYSCTL=y": "CONFIG_SYSCTL=y"}  # names that later sources use for an option
_SINCE_7 = ("CONFIG_NET_SCH_DUALPI2=y",)  # options that Linux 6 of Debian does not have; no trial needs them
_NEWEST_MAJOR = 7
_OBJECTS = 830  # approximate number of files that a build compiles, for the progress shown
_REMEDY = "run 'lfp virtual --build' (about 3 minutes, once)"
# Most of an archive is drivers and other architectures. Their Kconfig files are read; their code is not needed.
_LEFT_OUT = (
    *(f"*/drivers/{name}/*.[ch]" for name in (
        "accel", "clk", "comedi", "crypto", "gpu", "hwmon", "iio", "infiniband", "media", "mfd", "mtd", "net/dsa",
        "net/ethernet", "net/wireless", "phy", "pinctrl", "platform", "scsi", "soc", "staging", "usb", "video",
    )), "*/arch/[a-t]*.[chS]", "*/arch/*.dts*", "*/Documentation/*.rst", "*/Documentation/*.txt",
    "*/Documentation/*.yaml", "*/sound/*.[ch]", "*/tools/perf/*", "*/tools/testing/*",
)  # fmt: skip


def patches(major: int) -> list[Path]:
    """The patches for the source of a major version, in order. A patch in that version's folder replaces the general
    one of the same name. A patch without a diff says that this version needs none."""
    folders = FOLDER / "patches", FOLDER / "patches" / str(major)
    found = {file.name: file for folder in folders for file in folder.glob("*.patch")}
    return [found[name] for name in sorted(found) if "\n+++ " in found[name].read_text(encoding="utf-8")]


def congestion_files() -> dict[str, Path]:
    """The files of rttcp's congestion controls, by their names under net/ipv4."""
    headers = {f"algo/{file.name}": file for file in sorted((CONGESTION / "algo").glob("*.h"))}
    return headers | {"tcp_glue.h": CONGESTION / "tcp_glue.h", "tcp_lfp.c": CONGESTION / "kernel" / "tcp_lfp.c"}


def path() -> Path:
    """Where the kernel is: the one that the variable names, the user's own, or the machine's. If there is none, the
    path where it would be built."""
    machines = machine_wide.find(parts())
    try:
        own = _own_path()
    except MissingError:  # there is no source
        if machines:
            return machines
        raise
    return own if KERNEL_VARIABLE in os.environ or os.access(own, os.X_OK) else machines or own


def _own_path() -> Path:
    """Where this user's kernel is built. MissingError without a source."""
    if named := os.environ.get(KERNEL_VARIABLE):
        return Path(named)
    return source.cache() / _key(source.find()) / "linux"


def parts() -> list[Path]:
    """All files that the project puts into a kernel, of whatever version."""
    patched = sorted((FOLDER / "patches").rglob("*.patch"))
    return [CONFIG, *patched, *congestion_files().values(), *box_source.files(_NEWEST_MAJOR).values()]


def missing() -> str | None:
    """The reason why no trial can run in virtual time here, or None."""
    try:
        where = path()
    except MissingError as error:
        return f"the virtual-time kernel is not built: {error}"
    return None if os.access(where, os.X_OK) else f"the virtual-time kernel is not built ({where}); {_REMEDY}"


def require() -> Path:
    """The kernel's path; MissingError, which says what to do, if there is no kernel."""
    if why := missing():
        raise MissingError(f"--time virtual: {why}")
    return path()


def version(image: Path) -> str:
    """Release and machine as `uname` gives them inside a guest, for the manifest's ``kernel``."""
    done = subprocess.run([str(image), "--version"], capture_output=True, text=True, timeout=10)
    return f"Linux {done.stdout.strip() or '?'} um x86_64"


def has_box() -> bool:
    """Whether the kernel has the delay box built in. False for kernels of Linux 6 and of earlier versions of this
    project."""
    if missing():
        return False
    image = path()
    return _has_box(image, image.stat().st_mtime_ns)


@cache
def _has_box(image: Path, _built_ns: int) -> bool:
    return b"comet_core_take" in image.read_bytes()


def build(jobs: int) -> Path:
    """Builds the kernel unless the cache has it, and prints what it does. The source is unpacked next to the kernel and
    removed afterwards."""
    target = _own_path() if unprivileged.is_root() else path()
    if os.access(target, os.X_OK):
        click.echo(f"== virtual-time kernel: {target}")
        return target
    if lacking := [program for program in NEEDED if not shutil.which(program)]:
        packages = " ".join(NEEDED[program] for program in lacking)
        raise MissingError(f"programs not found: {', '.join(lacking)}; apt-get install {packages}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="build-", dir=target.parent) as folder:
        tree = compiled(Path(folder), jobs)
        shutil.copy2(tree / ".config", target.with_name("config"))
        temporary = target.with_name(".linux.tmp")
        shutil.copy2(tree / "linux", temporary)
        _quietly(["strip", "--strip-debug", str(temporary)], tree)
        temporary.rename(target)
    click.echo(f"== virtual-time kernel: {target}")
    return target


def compiled(folder: Path, jobs: int, more: Iterable[Path] = (), options: Iterable[str] = ()) -> Path:
    """The source, unpacked into `folder` and compiled; the kernel is its file `linux`. ``more``: further patches.
    ``options``: further lines of the configuration, as CONFIG_SECCOMP=y."""
    origin = source.find()
    tree, major = _unpacked(origin, folder), source.major(origin)
    for patch in (*patches(major), *more):
        _quietly(["patch", "-p1", "-s", "-i", str(patch)], tree)
    _add_congestion(tree)
    box_source.add(tree, major)
    asked = CONFIG.read_text(encoding="utf-8").splitlines()
    _configure(tree, [*(line for line in asked if major >= 7 or line not in _SINCE_7), *options])
    headers.prepare(tree)
    _compile_all(tree, jobs)
    return tree


def _key(origin: Path) -> str:
    """The hash of everything that the kernel depends on. Size and date of an archive stand for its content."""
    stat = origin.stat()
    digest = hashlib.blake2b(f"{origin}:{stat.st_size}:{stat.st_mtime_ns}".encode(), digest_size=6)
    major = source.major(origin)
    for file in (CONFIG, *patches(major), *congestion_files().values(), *box_source.files(major).values()):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _unpacked(origin: Path, folder: Path) -> Path:
    tree = folder / "linux"
    click.echo(f"== virtual-time kernel: unpacking {origin}")
    if origin.is_dir():
        shutil.copytree(origin, tree, symlinks=True)
    else:
        tree.mkdir()
        left_out = [f"--exclude={pattern}" for pattern in _LEFT_OUT]
        _quietly(["tar", "-xf", str(origin), "--strip-components=1", "-C", str(tree), *left_out], folder)
    return tree


def _add_congestion(tree: Path) -> None:
    target = tree / "net" / "ipv4"
    (target / "algo").mkdir()
    for name, file in congestion_files().items():
        shutil.copyfile(file, target / name)
    with (target / "Makefile").open("a", encoding="utf-8") as makefile:
        makefile.write("obj-y += tcp_lfp.o\n")


def _configure(tree: Path, lines: list[str]) -> None:
    asked = tree / "asked.config"
    asked.write_text("\n".join(lines) + "\n", encoding="utf-8")
    _quietly(["make", "ARCH=um", f"KCONFIG_ALLCONFIG={asked}", "allnoconfig"], tree)
    got = set((tree / ".config").read_text(encoding="utf-8").splitlines())
    wanted = [line for line in lines if line.startswith("CONFIG_")]
    if lacking := [line for line in wanted if line not in got and _NOW_CALLED.get(line) not in got]:
        raise LfpError(f"{CONFIG}: this source does not take {', '.join(lacking)}; use another source or correct it")


def _compile_all(tree: Path, jobs: int) -> None:
    """Compiles and links. Files that do not compile from the precompiled headers are compiled from the plain ones."""
    error = _compile(tree, jobs)
    if error and headers.give_up(tree):
        click.echo("== virtual-time kernel: the rest file by file, which takes longer")
        error = _compile(tree, jobs)
    if error:
        raise LfpError(f"building the virtual-time kernel failed: {error}")


def _compile(tree: Path, jobs: int) -> str | None:
    """Compiles, and prints progress with the time that is left. Returns the first error, or None."""
    argv = ["make", "ARCH=um", f"-j{jobs}", "--keep-going", "KCFLAGS=-w", "linux"]  # -w: warnings are not for our users
    process = subprocess.Popen(argv, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout
    lines: list[str] = []
    compiled, began_s = 0, time.monotonic()
    for line in process.stdout:
        lines.append(line.rstrip())
        if line.startswith("  CC"):
            compiled += 1
            if compiled % (_OBJECTS // 10) == 0 and compiled < _OBJECTS:
                left_s = (time.monotonic() - began_s) * (_OBJECTS / compiled - 1)
                percent = compiled * 100 // _OBJECTS
                click.echo(f"== virtual-time kernel: {percent} % compiled, about {spoken(left_s)} left")
    if process.wait():
        return ([line for line in lines if "rror" in line][:1] or lines[-1:] or ["no output"])[0]
    return None


def _quietly(argv: list[str], folder: Path) -> None:
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no output"]
        raise LfpError(f"{' '.join(argv[:2])} failed: {said[0]}")


def _offer(image: Path) -> None:
    try:
        said = f"for all users of this machine: {machine_wide.offer(image, parts())}"
    except OSError as error:
        said = f"for root alone: {error}"
    click.echo(f"== virtual-time kernel: {said}")


def make() -> Path:
    """Builds the kernel unless it is there, from a source that is fetched where there is none."""
    if unprivileged.is_root() or missing():
        source.fetch()
    image = build(os.cpu_count() or 1)
    if unprivileged.is_root():
        _offer(image)
    return image


def main() -> int:
    """Entry point of ``make virtual``. ``--path`` only prints the kernel's path."""
    try:
        if sys.argv[1:] == ["--path"]:
            click.echo(path())
        else:
            make()
    except LfpError as error:
        click.echo(f"virtual-time kernel: {error}", err=True)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
