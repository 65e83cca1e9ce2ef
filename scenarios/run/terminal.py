"""Output for people: a console that neither colours numbers nor breaks lines."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from netcommon.printable import printable
from scenarios.run.plain import WIDTH_IN_A_PIPE, print_table

__all__ = ["console", "print_table"]


class _Plain(Console):
    """Prints control characters as escapes, so that a text of a run cannot move the cursor."""

    def print(self, *objects: Any, **options: Any) -> None:
        """As rich does it."""
        super().print(*(printable(one) if isinstance(one, str) else one for one in objects), **options)


def console(*, stderr: bool = False) -> Console:
    """The console of a command."""
    made = _Plain(highlight=False, soft_wrap=True, stderr=stderr)
    return made if made.is_terminal else _Plain(highlight=False, soft_wrap=True, stderr=stderr, width=WIDTH_IN_A_PIPE)
