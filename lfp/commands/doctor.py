"""``lfp doctor``: whether this machine is ready, what it is good for, and what to do where it lacks something."""

from __future__ import annotations

import dataclasses
import json

import click
from rich.console import Console

from lfp.commands._time import measure
from netcommon.errors import EXIT_MISSING, LfpError
from scenarios.run import checks, fitness
from scenarios.run.checks import Check
from scenarios.run.fitness import Fitness
from scenarios.run.terminal import console

_MARKS = {"ok": "[green]ok     [/]", "note": "[yellow]note   [/]", "missing": "[red]missing[/]"}


@click.command("doctor")
@click.option("--brief", is_flag=True, help="Print only what is not in order, and measure nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: the checks, and what was measured.")
def command(brief: bool, as_json: bool) -> int:
    """Check whether this machine is ready, and measure for three seconds what it is good for.

    Checks privileges, kernel, tools, packages and limits. The exit status is 3 when something needed is missing.
    """
    out = console(stderr=as_json)
    findings = checks.everything()
    missing = sum(check.state == "missing" for check in findings)
    if not as_json:
        _print_checks(out, [check for check in findings if not (brief and check.state == "ok")])
    measured, why = (None, "not measured (--brief)") if brief else _measure(out)
    if as_json:
        click.echo(json.dumps(_as_json(findings, measured, why), ensure_ascii=False))
        return EXIT_MISSING if missing else 0
    if not brief:
        _print_measured(out, measured, why)
    out.print("everything needed is installed" if not missing else f"{missing} missing")
    return EXIT_MISSING if missing else 0


def _measure(out: Console) -> tuple[Fitness | None, str]:
    """The machine's figures, or why there are none."""
    try:
        return measure(out), ""
    except LfpError as error:
        return None, str(error)


def _print_checks(out: Console, found: list[Check]) -> None:
    for check in found:
        out.print(f"{_MARKS[check.state]} {check.name}: {check.detail}")
        if check.remedy:
            out.print(f"        → {check.remedy}", markup=False)


def _print_measured(out: Console, measured: Fitness | None, why: str) -> None:
    if measured is None:
        out.print(f"{_MARKS['note']} measurement: {why}")
        return
    for name, figure in fitness.figures(measured):
        out.print(f"        {name}: {figure}", markup=False)
    out.print(f"this machine is good for {fitness.good_for(measured)}", markup=False)


def _as_json(findings: list[Check], measured: Fitness | None, why: str) -> dict[str, object]:
    return {
        "v": 1,
        "ready": not any(check.state == "missing" for check in findings),
        "checks": [dataclasses.asdict(check) for check in findings],
        "measured": None if measured is None else measured.as_json(),
        "measured_why": why,
        "good_for": None if measured is None else fitness.good_for(measured),
    }
