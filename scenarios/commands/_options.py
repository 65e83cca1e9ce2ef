"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path

import click

runs_dir_option = click.option(
    "--runs-dir", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True,
    help="Directory that holds the runs.",
)  # fmt: skip
