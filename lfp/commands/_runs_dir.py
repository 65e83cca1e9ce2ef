"""``--runs-dir``, apart from the other shared options, which load the model."""

from __future__ import annotations

from pathlib import Path

import click

from scenarios.run import runs

runs_dir_option = click.option(
    "--runs-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    show_default=True,
    envvar=runs.DIRECTORY,
    show_envvar=True,
    help="Directory that holds the runs.",
)
