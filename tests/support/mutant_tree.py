"""A copy of the working tree in which mutants are built and tested: the working tree itself is never touched.

The copy is a checkout like any other: netcommon.binaries finds its build/release, and its .venv takes the project's
packages from the copy. It stays, so the next run compiles no more than has changed.
Rejected: `git worktree`, which has only what is committed; a fresh copy for each mutant, which compiles all of it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

from netcommon.errors import LfpError, MissingError
from support.mutant_rows import ROOT, is_pytest

BUILD = Path("build") / "release"
CONFIGURATION = ("-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DLFP_TESTS=ON")  # without the release's slow links
COMMAND_TIMEOUT_S = 1800  # a hanging test is ended by CTest or pytest long before


@dataclass(frozen=True)
class Outcome:
    """What a test said. ``failed``: name of the first test function that failed; empty: it passed. ``unusable``: why
    the test could not run at all, such as a source that does not compile."""

    failed: str = ""
    unusable: str = ""


def _environment() -> dict[str, str]:
    """The environment without overrides, so that only the copy's tools are tested."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("LFP_", "PYTHON", "VIRTUAL_ENV"))}
    # Python takes a .pyc for current if size and second of the source agree, so it could hide a mutant.
    return kept | {"PYTHONDONTWRITEBYTECODE": "1"}


class Tree:
    """One copy. ``jobs``: how many compilers at a time."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self.folder = folder
        self.jobs = jobs
        self._python = folder / ".venv" / "bin" / "python"

    def prepare(self) -> None:
        """Copies the working tree's files and builds everything. LfpError when it does not build."""
        self._copy()
        self._make_venv()
        for command in (
            ["cmake", "-G", "Ninja", "-S", ".", "-B", str(BUILD), *CONFIGURATION],
            self._build_command(),
        ):
            done = self._run(command)
            if done.returncode:
                raise LfpError(f"{self.folder}: {' '.join(command)}: {_last_lines(done.stdout)}")

    def read(self, file: str) -> str:
        """A source as it is now; empty when there is none."""
        path = self.folder / file
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def write(self, file: str, text: str) -> None:
        """Replaces a source; its time is new, so that the next build sees it."""
        (self.folder / file).write_text(text, encoding="utf-8")

    def all_tests(self) -> list[str]:
        """The fast half: every C test, then every file of tests/py but that on mutants, which any mutant would fail."""
        listed = self._run(["ctest", "--test-dir", str(BUILD), "-N"]).stdout
        files = sorted({*self.folder.glob("tests/py/*/test_*.py")} - {self.folder / "tests/py/project/test_mutants.py"})
        return re.findall(r"Test +#\d+: (\S+)", listed) + [str(file.relative_to(self.folder)) for file in files]

    def run(self, test: str) -> Outcome:
        """Builds what the test needs and runs it."""
        return self._run_pytest(test) if is_pytest(test) else self._run_ctest(test)

    def _run_ctest(self, test: str) -> Outcome:
        built = self._run(self._build_command(test if test.startswith("fuzz_") else f"test_{test}"))
        if built.returncode:
            return Outcome(unusable=_last_lines(built.stdout))
        chosen = ["-R", f"^{test}$", "--no-tests=error", "--output-on-failure"]
        done = self._run(["ctest", "--test-dir", str(BUILD), *chosen])
        if done.returncode == 0:
            return Outcome()
        begun = re.findall(r"^run (\w+)$", done.stdout, re.MULTILINE)  # check.h
        return Outcome(failed=f"{test}: {begun[-1]}" if begun else test)

    def _run_pytest(self, test: str) -> Outcome:
        tools = [path.name for path in (self.folder / BUILD / "bin").iterdir() if path.is_file()]
        built = self._run(self._build_command(*tools))
        if built.returncode:
            return Outcome(unusable=_last_lines(built.stdout))
        options = ["-x", "-q", "-rf", "--tb=short", "-p", "no:cacheprovider"]
        done = self._run([str(self._python), "-m", "pytest", *options, test])
        failed = re.search(r"^FAILED (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
        if done.returncode == 1 and failed:
            return Outcome(failed=failed[1])
        passed = done.returncode == 0 and re.search(r"\b\d+ passed", done.stdout)
        return Outcome() if passed else Outcome(unusable=_last_lines(done.stdout))

    def _build_command(self, *targets: str) -> list[str]:
        chosen = ["--target", *targets] if targets else []
        return ["cmake", "--build", str(BUILD), f"-j{self.jobs}", *chosen, "--", "--quiet"]

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                command,
                cwd=self.folder,
                env=_environment(),
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=COMMAND_TIMEOUT_S,
            )
        except FileNotFoundError as error:
            raise MissingError(f"{command[0]}: not found; 'make setup' installs it") from error

    def _copy(self) -> None:
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
        names = {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()}
        for name in names:
            _copy_changed(ROOT / name, self.folder / name)
        for old in self.folder.rglob("*"):
            own = old.relative_to(self.folder)
            if own.parts[0] not in ("build", ".venv") and old.is_file() and str(own) not in names:
                old.unlink()

    def _make_venv(self) -> None:
        """Makes an environment without packages of its own: it finds the copy first, then the packages of the running
        one."""
        if not self._python.exists():
            venv.create(self.folder / ".venv", symlinks=True)
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        places = self.folder / ".venv" / "lib" / version / "site-packages" / "mutants.pth"
        places.write_text(f"{self.folder}\n{sysconfig.get_path('purelib')}\n", encoding="utf-8")


def _copy_changed(source: Path, target: Path) -> None:
    content = source.read_bytes()
    if target.is_file() and target.read_bytes() == content:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    target.chmod(source.stat().st_mode & 0o777)


def _last_lines(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-12:])
