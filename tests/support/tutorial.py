"""Commands and outputs of the tutorials: each ```console block of a page is what a reader pastes and sees.

`$ COMMAND` is a command; `# exit status N` behind it gives its exit status, which is 0 otherwise. The command prints
the lines below it in this order, possibly with others between them. In virtual time one seed gives one result, so every
figure is exact. A run's name stands for the name of any run. `tools/renew-figures` writes today's figures into the
pages.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from netcommon import binaries

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *sorted(page for page in (ROOT / "docs/tutorials").glob("*.md") if page.name != "README.md"),
    ROOT / "README.md",
]
_TIMEOUT_S = 600
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_STATUS = re.compile(r"\s+# exit status (\d+)$")
_RUN = re.compile(r"-\d{8}T\d{6}-[0-9a-f]{6}")
_NUMBER = re.compile(r"[+-]?(?<![A-Za-z\d.])\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Step:
    """A command, its exit status, and lines of what it prints."""

    command: str
    status: int
    output: tuple[str, ...]


def steps(page: str) -> list[Step]:
    """All commands of a page's text, in order."""
    lines = [line for block in _BLOCK.findall(page) for line in block.splitlines()]
    starts = [n for n, line in enumerate(lines) if line.startswith("$ ")]
    return [_step(lines[begin:end]) for begin, end in zip(starts, [*starts[1:], len(lines)], strict=True)]


def _step(lines: list[str]) -> Step:
    command, output = lines[0].removeprefix("$ "), tuple(line for line in lines[1:] if line.strip())
    status = _STATUS.search(command)
    return Step(_STATUS.sub("", command), int(status[1]) if status else 0, output)


def played(page: Path, folder: Path) -> Iterator[tuple[Step, int, str]]:
    """Does what a page says, in an empty folder: each step, its exit status, and what it printed."""
    (folder / "examples").symlink_to(ROOT / "examples")
    for build in ("old", "new"):
        (folder / build).mkdir()
        shutil.copy(binaries.find("lft-gateway"), folder / build)
    environment = os.environ | {"PATH": f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}"}
    for step in steps(page.read_text()):
        done = subprocess.run(
            ["bash", "-c", step.command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
        )
        yield step, done.returncode, done.stdout + done.stderr


def missing(expected: tuple[str, ...], printed: str) -> str | None:
    """The first expected line that was not printed, or None."""
    rest = iter(printed.splitlines())
    return next((line for line in expected if not any(alike(line, other) for other in rest)), None)


def alike(expected: str, printed: str) -> bool:
    """Whether both lines have the same words and figures; spaces do not matter."""
    return _words(expected) == _words(printed)


def _words(line: str) -> list[str]:
    return _RUN.sub("-RUN", line).split()


def renewed(page: str, printed: list[str]) -> tuple[str, list[str]]:
    """A page's text with the figures that its commands printed (``printed``: one text a step), and the expected lines
    that no command printed in any form, which somebody has to look at."""
    lost, lines = list[str](), page.splitlines(keepends=True)
    outputs, inside = iter(printed), False
    rest: Iterator[str] = iter(())
    for at, line in enumerate(lines):
        text = line.rstrip("\n")
        if text.startswith("```"):
            inside = text == "```console"
        elif inside and text.startswith("$ "):
            rest = iter(next(outputs).splitlines())
        elif inside and text.strip():
            found = next((other for other in rest if _skeleton(other) == _skeleton(text)), None)
            if found is None:
                lost.append(text)
            elif not _RUN.search(text):
                lines[at] = f"{found.rstrip()}\n"
    return "".join(lines), lost


def _skeleton(line: str) -> list[str]:
    return _NUMBER.sub("#", " ".join(_words(line))).split()
