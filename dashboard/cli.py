"""`lfp dashboard RUN` and `lfp report RUN`: thin click commands in the entry-point group `lfp.commands`.

Errors are LfpError. `lfp` turns them into one line and the contract's exit status.
"""

from __future__ import annotations

from pathlib import Path

import click

from netcommon.errors import UsageError

runs_dir_option = click.option(
    "--runs-dir", default="runs", show_default=True, type=click.Path(path_type=Path),
    help="Directory that holds the runs.",
)  # fmt: skip


@click.command("dashboard")
@click.argument("run", default="last")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; a token beyond loopback.")
@click.option("--port", default=8050, show_default=True, type=click.IntRange(0, 65535), help="TCP port; 0: any free.")
@click.option("--token", help="Require this token on every request.  [default: a random one beyond loopback]")
@click.option("--read-only", is_flag=True, help="Nothing can be deleted from the pages.")
@runs_dir_option
def dashboard(run: str, host: str, port: int, token: str | None, read_only: bool, runs_dir: Path) -> None:
    """Show RUN and all runs beside it in a browser: sweeps, Seq/Ack timelines, verdicts.

    RUN is a run directory, a run's name, or "last". Ctrl-C ends the dashboard.
    """
    from dashboard.data.runs import load_run
    from dashboard.server import serve
    from scenarios.run import runs

    if token is not None and len(token) < 8:
        raise UsageError("--token: too short; at least 8 characters, or leave it out to get one made up")
    path = runs.find(run, runs_dir).absolute()
    load_run(path)  # so that a damaged run is an error here rather than on a page
    serve(path, host, port, token, lambda url: click.echo(f"Dashboard: {url}   (Ctrl-C ends it)"), read_only=read_only)


@click.command("report")
@click.argument("run", default="last")
@runs_dir_option
def report(run: str, runs_dir: Path) -> None:
    """Write RUN/report.html again, as one self-contained file, and print its path.

    RUN is a run directory, a run's name, or "last".
    """
    from dashboard.report import write_report
    from scenarios.run import runs

    click.echo(write_report(runs.find(run, runs_dir)))
