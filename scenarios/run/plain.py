"""Plain tables for people, without rich: loading rich takes as long as a whole ``lfp list``.

``Plain`` has the methods that `print_table` needs. So has a rich console, which verbs with progress bars pass instead.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from netcommon.printable import printable

WIDTH_IN_A_PIPE = 200
_GAP, _LEAST_WIDTH = "  ", 20


class Where(Protocol):
    """Where a table is printed."""

    @property
    def width(self) -> int:
        """Columns of a line."""

    def print(self, *objects: Any, style: str | None = None, markup: bool | None = None) -> None:
        """Prints a text without interpreting markup."""


class Plain:
    """Standard output: bold on a terminal, plain text elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.width = shutil.get_terminal_size().columns if self._terminal else WIDTH_IN_A_PIPE

    def print(self, *objects: Any, style: str | None = None, markup: bool | None = None) -> None:
        """Prints the objects. ``style``: bold or none."""
        text = printable(" ".join(map(str, objects)))
        print(f"\033[1m{text}\033[0m" if style == "bold" and self._terminal else text)


def print_table(where: Where, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints a table without ruled lines. Only the last column may wrap. Rejected: rich's table, which takes a
    millisecond a row."""
    table = [tuple(row) for row in rows]
    widths = [max(map(cells_of, column)) for column in zip(headings, *table, strict=True)]
    indent = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
    room = max(where.width - indent, _LEAST_WIDTH)
    where.print("\n".join(_lines(headings, widths, room)), style="bold", markup=False)
    if table:
        where.print("\n".join(line for row in table for line in _lines(row, widths, room)), markup=False)


def cells_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _lines(row: Sequence[str], widths: Sequence[int], room: int) -> list[str]:
    """The lines of a row. Lines after the first hold only the rest of its last column."""
    *cells, last = row
    padded = (cell + " " * (width - cells_of(cell)) for cell, width in zip(cells, widths, strict=False))
    first, *others = [last] if cells_of(last) <= room else textwrap.wrap(last, room, break_long_words=False)
    start = "".join(f"{cell}{_GAP}" for cell in padded)
    return [f"{start}{first}".rstrip(), *(f"{' ' * cells_of(start)}{other}" for other in others)]
