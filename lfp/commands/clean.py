"""``lfp clean``: removes what crashed runs left behind."""

from __future__ import annotations

import click

from netcommon.printable import printable
from scenarios.run import leftovers


@click.command("clean")
@click.option("--dry-run", is_flag=True, help="Only print what would be removed.")
def command(dry_run: bool) -> None:
    """Remove what crashed runs left behind: processes with their namespaces, and temporary files.

    It works from the records that runs keep, and removes nothing else.
    """
    removed = leftovers.clean(dry_run=dry_run)
    verb = "would remove" if dry_run else "removed"
    for what in removed:
        click.echo(printable(f"{verb} {what}"))
    if not removed:
        click.echo("nothing to remove")
