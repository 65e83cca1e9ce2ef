"""The deliberately wrong products of `make mutants`: one file each, tests/mutants/<part>/<name>.toml.

    wrong = "The delay is 0.3 ms too long."       what a user would suffer, in one sentence
    file = "comet_delay/src/timing/lines.c"       which source, from the root
    old = 'arrival_ns + delay_ns)'                text that occurs there exactly once
    new = 'arrival_ns + delay_ns + 300000)'       its replacement; the result still compiles
    tests = ["comet_direction"]                   tests that must notice: CTest names, pytest files or node ids

A replaced text, not a diff: lines around it may change, and when the text itself does, the row is refused.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from netcommon.errors import LfpError

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "mutants"


class RowError(LfpError):
    """A row that cannot be used; the text names it and says why."""


@dataclass(frozen=True)
class Mutant:
    """One wrong product. ``name``: part and file name, such as ``comet_delay/delay``."""

    name: str
    wrong: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def applied(self, text: str) -> str:
        """The wrong source. RowError unless the old text occurs exactly once in the right source."""
        found = text.count(self.old)
        if found != 1:
            raise RowError(f"{self.name}: its old text stands {found} times in {self.file}; want once")
        return text.replace(self.old, self.new)


def read(file: Path, folder: Path = FOLDER) -> Mutant:
    """One row. RowError for a key that is missing or unknown."""
    name = str(file.relative_to(folder).with_suffix(""))
    with file.open("rb") as source:
        row = tomllib.load(source)
    wanted = {"wrong", "file", "old", "new", "tests"}
    if set(row) != wanted:
        raise RowError(f"{name}: has the keys {', '.join(sorted(row))}; want {', '.join(sorted(wanted))}")
    return Mutant(name, row["wrong"], row["file"], row["old"], row["new"], tuple(row["tests"]))


def read_all(folder: Path = FOLDER) -> list[Mutant]:
    """All rows, by part and name."""
    return [read(file, folder) for file in sorted(folder.glob("*/*.toml"))]


def is_pytest(test: str) -> bool:
    """Whether a row's test is pytest's; otherwise it is CTest's."""
    return ".py" in test
