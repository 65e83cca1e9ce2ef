"""``lfp schema``: the JSON Schema of scenario files."""

from __future__ import annotations

import json

import click

from scenarios.plan import schema


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of scenario files, by which editors complete keys and mark mistakes.

    The first line of a file names it: '#:schema PATH', as in the files that 'lfp new' writes.
    """
    click.echo(json.dumps(schema.schema(), indent=1, ensure_ascii=False))
