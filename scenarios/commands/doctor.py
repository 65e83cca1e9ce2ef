"""``lfp doctor``: is this machine ready, and what to do if not."""

from __future__ import annotations

import click

from netcommon.errors import EXIT_MISSING
from scenarios import checks
from scenarios.terminal import console

_MARKS = {"ok": "[green]ok     [/]", "note": "[yellow]note   [/]", "missing": "[red]missing[/]"}


@click.command("doctor")
@click.option("--brief", is_flag=True, help="Only what is not in order.")
def command(brief: bool) -> int:
    """Check privileges, kernel, tools, packages and limits; exit 3 when something needed is missing."""
    out = console()
    found = checks.everything()
    for check in found:
        if brief and check.state == "ok":
            continue
        out.print(f"{_MARKS[check.state]} {check.name}: {check.detail}")
        if check.remedy:
            out.print(f"        → {check.remedy}", markup=False)
    missing = sum(check.state == "missing" for check in found)
    out.print("all that is needed is there" if not missing else f"{missing} missing")
    return EXIT_MISSING if missing else 0
