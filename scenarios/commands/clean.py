"""``lfp clean``: remove what crashed runs left."""

from __future__ import annotations

import click

from scenarios import leftovers


@click.command("clean")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
def command(dry_run: bool) -> None:
    """Remove what crashed runs of lfp left: processes, with their namespaces, and temporary files; by their records."""
    removed = leftovers.clean(dry_run=dry_run)
    verb = "would remove" if dry_run else "removed"
    for what in removed:
        click.echo(f"{verb} {what}")
    if not removed:
        click.echo("nothing to remove")
