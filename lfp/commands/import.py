"""``lfp import``: makes a run of captures that others made."""

from __future__ import annotations

import re
from pathlib import Path

import click

from lfp.commands import _running
from lfp.commands._options import runs_dir_option
from netcommon.errors import UsageError
from scenarios.plan.values import PORTABLE_NAME
from scenarios.run import importing
from scenarios.run.importing import Wanted
from scenarios.run.terminal import console


@click.command("import")
@click.argument("captures", nargs=-1, required=True, metavar="SND [MID...] [RCV]")
@click.option("--name", default="import", show_default=True, help="Name of the run; its start time is added.")
@click.option("--title", default="", help="Title of the run.  [default: the captures' file names]")
@click.option(
    "--clock",
    default="estimate",
    show_default=True,
    metavar="same|estimate|OFFSET,PPM",
    help="Relation of each capture's clock to the previous capture's clock.",
)
@click.option("--tunnels", is_flag=True, help="Also look for TCP inside tunnels (GRE, VXLAN, GENEVE, GTP-U, …).")
@click.option("--no-captures", is_flag=True, help="Keep no copies of the captures in the run, only its tables.")
@click.option(
    "--anonymise",
    is_flag=True,
    help="Map addresses (prefixes are kept) and ports; leave out payload, MAC addresses and names.",
)
@click.option(
    "--key",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --anonymise: 64 hexadecimal digits, for one mapping in several runs.  [default: random, not kept]",
)
@runs_dir_option
def command(
    captures: tuple[str, ...],
    name: str,
    title: str,
    clock: str,
    tunnels: bool,
    no_captures: bool,
    anonymise: bool,
    key: Path | None,
    runs_dir: Path,
) -> None:
    """Make a run of captures that others made: of one end, of both ends, or of several points in the order in which
    the data pass them. Files may be compressed (.gz, .xz, .lz4, .zst); - is standard input."""
    if not re.match(PORTABLE_NAME, name):
        raise UsageError(f"--name '{name}': want letters, digits, '.', '_' and '-', beginning with a letter or digit")
    wanted = Wanted(captures, name, title, clock, tunnels, not no_captures, anonymise, key)
    run_dir = importing.make(wanted, runs_dir)
    _running.say_imported(run_dir, console())
