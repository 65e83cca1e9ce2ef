"""Output for people: a console that neither colours numbers nor breaks lines, and plain tables."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console

_WIDTH_IN_A_PIPE = 200
_GAP, _LEAST_WIDTH = "  ", 20


def console(*, stderr: bool = False) -> Console:
    """The console of a command."""
    made = Console(highlight=False, soft_wrap=True, stderr=stderr)
    return made if made.is_terminal else Console(highlight=False, soft_wrap=True, stderr=stderr, width=_WIDTH_IN_A_PIPE)


def print_table(where: Console, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints a table without ruled lines. Only the last column may wrap. Rejected: rich's table, which takes a
    millisecond a row."""
    table = [tuple(row) for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(headings, *table, strict=True)]
    indent = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
    room = max(where.width - indent, _LEAST_WIDTH)
    where.print("\n".join(_lines(headings, widths, room)), style="bold", markup=False)
    if table:
        where.print("\n".join(line for row in table for line in _lines(row, widths, room)), markup=False)


def _lines(row: Sequence[str], widths: Sequence[int], room: int) -> list[str]:
    """The lines of a row. Those after the first have nothing but the rest of its last column."""
    *cells, last = row
    padded = (set_cell_size(cell, width) for cell, width in zip(cells, widths, strict=False))
    first, *others = [last] if cell_len(last) <= room else textwrap.wrap(last, room, break_long_words=False)
    start = "".join(f"{cell}{_GAP}" for cell in padded)
    return [f"{start}{first}".rstrip(), *(f"{' ' * cell_len(start)}{other}" for other in others)]
