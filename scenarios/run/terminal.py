"""Output for people: a console that neither colours numbers nor breaks lines, and plain tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

_WIDTH_IN_A_PIPE = 200


def console(*, stderr: bool = False) -> Console:
    """The console of a command."""
    made = Console(highlight=False, soft_wrap=True, stderr=stderr)
    return made if made.is_terminal else Console(highlight=False, soft_wrap=True, stderr=stderr, width=_WIDTH_IN_A_PIPE)


def print_table(where: Console, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints a table without ruled lines. Only the last column may wrap."""
    table = Table(box=None, pad_edge=False)
    for number, heading in enumerate(headings, start=1):
        table.add_column(heading, no_wrap=number < len(headings))
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    where.print(table)
