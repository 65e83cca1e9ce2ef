"""Commands and outputs of the tutorials: each ```console block of a page is what a reader pastes and sees.

`$ COMMAND` is a command; `# exit status N` behind it says how it ends, 0 otherwise. The command prints the lines below
it in this order, with others between them. Figures may be off by `TOLERANCE`, since a change of ours may move them a
little; a run's name is any run's name. The columns `p` and `delta` of a comparison are not compared: they rank a few
repeats, so a tenth of a percent in one repeat can halve them. The verdict says what they mean, and is compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

TOLERANCE = 0.05
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_STATUS = re.compile(r"\s+# exit status (\d+)$")
_RUN = re.compile(r"-\d{8}T\d{6}-[0-9a-f]{6}")
_RANKS = re.compile(r"\bp\s+delta\s+(?=repeats\b)")
_GAP = re.compile(r"\S {2,}\S")
_NUMBER = re.compile(r"(?<![A-Za-z\d.])\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Step:
    """A command, its exit status, and lines of what it prints."""

    command: str
    status: int
    output: tuple[str, ...]


def steps(page: Path) -> list[Step]:
    """All commands of a page, in order."""
    lines = [line for block in _BLOCK.findall(page.read_text()) for line in block.splitlines()]
    starts = [n for n, line in enumerate(lines) if line.startswith("$ ")]
    return [_step(lines[begin:end]) for begin, end in zip(starts, [*starts[1:], len(lines)], strict=True)]


def _step(lines: list[str]) -> Step:
    command, output = lines[0].removeprefix("$ "), tuple(line for line in lines[1:] if line.strip())
    status = _STATUS.search(command)
    return Step(_STATUS.sub("", command), int(status[1]) if status else 0, output)


def missing(expected: tuple[str, ...], printed: str) -> str | None:
    """The first expected line that was not printed, or None."""
    rest = iter(_without_ranks(printed.splitlines()))
    shown = zip(expected, _without_ranks(expected), strict=True)
    return next((line for line, compared in shown if not any(alike(compared, other) for other in rest)), None)


def alike(expected: str, printed: str) -> bool:
    """Same words, and figures within the tolerance."""
    ours, theirs = (_NUMBER.split(_words(line)) for line in (expected, printed))
    if [part.split() for part in ours] != [part.split() for part in theirs]:
        return False
    pairs = zip(_NUMBER.findall(_words(expected)), _NUMBER.findall(_words(printed)), strict=True)
    return all(abs(float(a) - float(b)) <= TOLERANCE * abs(float(a)) for a, b in pairs)


def _without_ranks(lines: Iterable[str]) -> list[str]:
    """The lines, with the columns `p` and `delta` cut out of each table that has them."""
    found: list[str] = []
    columns: re.Match[str] | None = None
    for line in lines:
        columns = _RANKS.search(line) or (columns if _GAP.search(line.strip()) else None)
        found.append(line[: columns.start()] + "  " + line[columns.end() :] if columns else line)
    return found


def _words(line: str) -> str:
    return _RUN.sub("-RUN", line)
