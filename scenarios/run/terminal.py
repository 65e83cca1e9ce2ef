"""Output for people: a console that neither colours numbers nor breaks lines."""

from __future__ import annotations

from rich.console import Console

from scenarios.run.plain import WIDTH_IN_A_PIPE, print_table

__all__ = ["console", "print_table"]


def console(*, stderr: bool = False) -> Console:
    """The console of a command."""
    made = Console(highlight=False, soft_wrap=True, stderr=stderr)
    return made if made.is_terminal else Console(highlight=False, soft_wrap=True, stderr=stderr, width=WIDTH_IN_A_PIPE)
