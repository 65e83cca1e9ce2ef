"""Checks CONTRIBUTING.md's sections "what to touch" against the tree, by their examples.

A section that ends in "Example: `word`" names all files that the change touches. So every product file that contains
the word is named there, is written by `make tables`, or has the word in its own name. No section names more than six
files in its table.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

from tree import ROOT

MOST_PLACES = 6
FOLDERS = ("netcommon", "comet_delay", "rttcp", "lft_ref", "pktlogger", "scenarios", "dashboard", "lfp")
ENDINGS = (".py", ".c", ".h", ".1", ".lua", "CMakeLists.txt")
WRITTEN = ("lft_ref/lft.lua",)  # by `make tables`
_SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
_EXAMPLE = re.compile(r"Example: (`[^`]+`(?:, `[^`]+`)*)")
_ROW = re.compile(r"^\| (?!file \||---)([^|]+) \|", re.MULTILINE)


def wrong() -> Iterator[str]:
    """A line for each file that a section does not name, and for each section with too many files."""
    for title, text in _SECTION.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
        if not (found := _EXAMPLE.search(text)):
            continue
        if (places := sum(_places(cell) for cell in _ROW.findall(text))) > MOST_PLACES:
            yield f"CONTRIBUTING.md: '{title}': {places} places; want at most {MOST_PLACES}"
        named = re.findall(r"`([\w./-]+)`", text)
        for word in re.findall(r"`([^`]+)`", found[1]):
            for path in _files_with(word):
                if not any(path == one or path.endswith(f"/{one}") for one in named) and word not in path:
                    yield f"CONTRIBUTING.md: '{title}': {path} has '{word}' and is not named there"


def _places(cell: str) -> int:
    """The number of files that a row counts for. Alternatives ("or", "such as") count as one file, because a change
    touches one of them."""
    return 1 if re.search(r" (or|such as) ", cell) else max(cell.count("`") // 2, 1)


def _files_with(word: str) -> list[str]:
    argv = ["git", "-C", str(ROOT), "grep", "-lwF", "-e", word, "--", *FOLDERS]
    listed = subprocess.run(argv, capture_output=True, text=True, check=False).stdout.split()
    return [path for path in listed if path.endswith(ENDINGS) and path not in WRITTEN]
