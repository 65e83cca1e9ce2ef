"""``lfp show``: shows what a run measured. A view that is kept (`shown`) is printed without loading what makes it."""

from __future__ import annotations

from pathlib import Path

import click

from lfp.commands._runs_dir import runs_dir_option
from netcommon.errors import UsageError
from netcommon.printable import printable
from scenarios.run import plain, runs, shown


@click.command("show")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each trial.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the results as CSV: a row for each trial and flow.")
@click.option(
    "--flent",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write each trial into this folder as a file of Flent (.flent.gz).",
)
@click.option(
    "--summary",
    metavar="METRIC",
    help="Print a line for each setting: median of this measured column, its bootstrap interval, outliers.",
)
@runs_dir_option
def command(run: str, as_json: bool, as_csv: bool, flent: Path | None, summary: str | None, runs_dir: Path) -> None:
    """Show the trials of RUN (path, name or 'last')."""
    run_dir = runs.find(run, runs_dir)
    if sum(map(bool, (as_json, as_csv, flent, summary))) > 1:
        raise UsageError("--json, --csv, --flent and --summary: one of them at most")
    if flent:
        from scenarios.run.flent import write  # not on top: loading it takes longer than printing a kept view

        for path in write(run_dir.resolve(), flent):
            click.echo(printable(str(path)))
        return
    view = None if as_json or as_csv or summary else shown.read(run_dir)
    if view is None:
        from lfp.commands import _show  # not on top: loading it takes longer than printing a kept view

        if summary:
            _show.print_summary(run_dir, summary)
            return
        if as_csv:
            click.echo(_show.as_csv(run_dir), nl=False)
            return
        if as_json:
            for line in _show.as_json(run_dir):
                click.echo(line)
            return
        view = _show.view(run_dir)
        shown.keep(run_dir, view)
    out = plain.Plain()
    for kind, *what in view:
        if kind == "table":
            plain.print_table(out, *what)
        else:
            out.print(*what)
