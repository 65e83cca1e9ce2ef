"""``lfp list``: shows the library."""

from __future__ import annotations

import click

from netcommon.readable import spoken
from scenarios.plan import library_index
from scenarios.run.plain import Plain, print_table


@click.command("list")
def command() -> None:
    """List the library's scenarios, with paper row, number of trials and estimated time."""
    rows = [
        (
            one.name,
            one.title,
            one.paper,
            str(one.trials),
            spoken(one.seconds),
            str(one.quick_trials),
            spoken(one.quick_seconds),
        )
        for one in library_index.entries()
    ]
    print_table(Plain(), ("scenario", "title", "paper", "trials", "time", "quick: trials", "time"), rows)
