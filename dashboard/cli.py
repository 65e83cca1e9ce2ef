"""`lfp dashboard`, `lfp report`, `lfp certify` and `lfp tag`: thin click commands in the entry-point group
`lfp.commands`.

Errors are LfpError. `lfp` turns them into one line and the contract's exit status.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from netcommon import extras
from netcommon.errors import EXIT_FAILED, UsageError
from netcommon.printable import printable
from netcommon.strangers import refuse_foreign

runs_dir_option = click.option(
    "--runs-dir",
    default="runs",
    show_default=True,
    type=click.Path(path_type=Path),
    envvar="LFP_RUNS_DIR",
    show_envvar=True,
    help="Directory that holds the runs.",
)


@click.command("dashboard")
@click.argument("run", required=False)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8050, show_default=True, type=click.IntRange(0, 65535), help="TCP port; 0: any free.")
@click.option("--token", help="Require this token on every request.  [default: a random one]")
@click.option("--read-only", is_flag=True, help="Nothing can be deleted, started or changed from the pages.")
@click.option(
    "--gateway",
    type=click.Path(path_type=Path),
    metavar="SOCKET",
    help="Control socket of a running lft-gateway; adds a page that shows and controls it.",
)
@click.option(
    "--box",
    type=click.Path(path_type=Path),
    metavar="SOCKET",
    help="Control socket of a running comet-delay; adds a page that shows and controls it.",
)
@click.option(
    "--user",
    metavar="NAME",
    help="Become this user once everything is open; root: keep user and "
    "capabilities.  [default: nobody when started as root]",
)
@click.option("--no-sandbox", is_flag=True, help="Keep user, capabilities, files and all system calls, for debuggers.")
@runs_dir_option
def dashboard(
    run: str | None,
    host: str,
    port: int,
    token: str | None,
    read_only: bool,
    gateway: Path | None,
    box: Path | None,
    user: str | None,
    no_sandbox: bool,
    runs_dir: Path,
) -> None:
    """Show RUN and the other runs of its folder in a browser: sweeps, Seq/Ack timelines, verdicts. RUN may still go on.

    RUN is a run directory, a run's name, or "last", which is the default. With the socket of a running tool and without
    RUN, the page of that tool comes first, and there need not be any run. Ctrl-C ends the dashboard.
    """
    extras.require("dashboard", "dashboard")
    from dashboard.server.launch import Shown, launch
    from netcommon.sandbox import Choice
    from scenarios.run import runs

    if token is not None and len(token) < 8:
        raise UsageError("--token: too short; give at least 8 characters, or leave it out to get a random one")
    first, shown = "/gateway" if gateway else "/box", None
    if run is not None or (gateway is None and box is None):
        shown = runs.find(run or "last", runs_dir).absolute()
        first, runs_dir = f"/run/{shown.name}", shown.parent
    sockets = {name: str(path.absolute()) for name, path in (("gateway", gateway), ("box", box)) if path}
    launch(
        Shown(str(runs_dir.absolute()), str(shown) if shown else None, first, host, token, read_only, sockets),
        port,
        Choice(user, no_sandbox),
    )


@click.command("report")
@click.argument("run", default="last")
@click.option(
    "--markdown",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write this Markdown file instead, and its pictures as PNG files into the same folder.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the HTML report here.  [default: RUN/report.html]",
)
@click.option(
    "--figures",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the figures into this folder instead, each as SVG and PDF.",
)
@click.option("--no-pictures", is_flag=True, help="With --markdown: tables alone, which need no Chromium.")
@runs_dir_option
def report(
    run: str, markdown: Path | None, output: Path | None, figures: Path | None, no_pictures: bool, runs_dir: Path
) -> None:
    """Write RUN/report.html again, as one self-contained file, and print its path.

    RUN is a run directory, a run's name, or "last". With --markdown the same facts, figures and tables are a Markdown
    file for a paper or a pull request. --figures writes the figures alone, for print.
    """
    extras.require("dashboard", "report")
    from dashboard.report.html import write_report
    from dashboard.report.markdown import write_figures, write_markdown
    from scenarios.run import runs

    if output and markdown:
        raise UsageError("--output: not with --markdown FILE, which names its own file")
    if figures and (output or markdown):
        raise UsageError("--figures: cannot be combined with --markdown or --output")
    if no_pictures and not markdown:
        raise UsageError("--no-pictures: only with --markdown FILE; the HTML report draws in the browser")
    path = runs.find(run, runs_dir)
    if figures:
        written = write_figures(path, figures)
    else:
        written = write_markdown(path, markdown, pictures=not no_pictures) if markdown else [write_report(path, output)]
    for file in written:
        click.echo(printable(str(file)))


def report_after_run(run_dir: Path) -> Path | None:
    """Writes the report of a run that has ended; None without the extra `dashboard`."""
    if extras.missing("dashboard"):
        return None
    from dashboard.report.html import write_report

    return write_report(run_dir)


@click.command("certify")
@click.argument("run", default="last")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Directory for dossier.json and dossier.html.  [default: the run's own]",
)
@click.option("--check", is_flag=True, help="Compare the run with its dossier and its hashes; write nothing.")
@click.option(
    "--entered",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Judge R10 by the records before this day.  [default: by all records]",
)
@runs_dir_option
def certify(run: str, output: Path | None, check: bool, entered: datetime | None, runs_dir: Path) -> int:
    """Judge RUN by the Land Speed Record's rules, and write dossier.json and dossier.html.

    RUN is a run directory, a run's name, or "last". Exit status 1: a rule other than R2 does not hold, or a file of
    the run has changed.
    """
    extras.require("dashboard", "certify")
    from dashboard.certificate.dossier import write_dossier
    from scenarios.certify import dossier
    from scenarios.run import runs

    path = runs.find(run, runs_dir)
    if check and entered:
        raise UsageError("--entered: not with --check; the dossier holds the day that it was made for")
    if check:
        dossier.check(path, output or path)
        click.echo(printable(f"{path}: unchanged since the run's end, and as in its dossier"))
        return 0
    if output is None:
        refuse_foreign(path)
    content = dossier.make(path, entered.date().isoformat() if entered else None)
    for rule in content["rules"]:
        click.echo(f"{rule['name']:<4} {rule['verdict']:<28} {rule['asks']}")
    click.echo(printable(str(write_dossier(content, output or path))))
    return 0 if content["certified"] else EXIT_FAILED


@click.command("tag")
@click.argument("run")
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option("--remove", is_flag=True, help="Remove these tags; without WORD all of them.")
@runs_dir_option
def tag(run: str, words: tuple[str, ...], remove: bool, runs_dir: Path) -> None:
    """Give RUN tags, by which the dashboard's table of runs is searched and filtered, and print its tags.

    RUN is a run directory, a run's name, or "last".
    """
    from dashboard.core import tags
    from scenarios.run import runs

    path = runs.find(run, runs_dir)
    if remove:
        tags.change(path, remove=words or tags.read(path))
    elif words:
        tags.change(path, add=words)
    click.echo(" ".join(tags.read(path)))
