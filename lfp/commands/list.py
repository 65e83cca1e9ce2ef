"""``lfp list``: shows the library."""

from __future__ import annotations

import click

from netcommon.readable import spoken
from scenarios.plan import library_index
from scenarios.plan.library_index import GROUPS, Entry
from scenarios.run.plain import Plain, print_table

_HEADINGS = ("scenario", "title", "paper", "trials", "time", "quick: trials", "time")


@click.command("list")
@click.argument("group", required=False, type=click.Choice(list(GROUPS)))
def command(group: str | None) -> None:
    """List the library's scenarios by group, with paper row, number of trials and estimated time.

    GROUP: only that group."""
    out, known = Plain(), library_index.entries()
    for number, name in enumerate([group] if group else GROUPS):
        if number:
            out.print()
        out.print(f"{name}: {GROUPS[name]}", style="bold")
        print_table(out, _HEADINGS, [_row(one) for one in known if one.group == name])


def _row(one: Entry) -> tuple[str, ...]:
    quick = str(one.quick_trials), spoken(one.quick_seconds)
    return one.name, one.title, one.paper, str(one.trials), spoken(one.seconds), *quick
