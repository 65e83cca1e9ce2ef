"""``lfp conformance``: tests how a scenario's gateways handle the usual behaviour of clients, servers and paths.

The table goes to stdout, the progress to stderr. Every case runs in virtual time, in a guest of its own, so it needs no
privilege and one seed gives one result.
"""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path
from typing import Any

import click

from lfp.commands._options import jobs_option, set_option
from netcommon.errors import EXIT_FAILED, UsageError
from netcommon.strangers import write_text
from scenarios.plan.plan import Plan, load_plan
from scenarios.run.plain import Plain, print_table

_WRITERS = (".json", ".md", ".txt")


@click.command("conformance")
@click.argument("scenario", required=False)
@click.option(
    "--only", multiple=True, metavar="CASE", help="Run these cases only; * and ? match (repeatable).  [default: all]"
)
@click.option("--list", "listed", is_flag=True, help="Print what each case does and expects, and run nothing.")
@click.option(
    "--output",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the table to this file, as its name ends: .json, .md or .txt (repeatable).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the table.")
@set_option
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    default=1,
    show_default=True,
    help="Seed of everything random: path, kernel and programs.",
)
@jobs_option
def command(
    scenario: str | None,
    only: tuple[str, ...],
    listed: bool,
    output: tuple[Path, ...],
    as_json: bool,
    overrides: tuple[str, ...],
    seed: int,
    jobs: int | None,
) -> int:
    """Test the pair of gateways that SCENARIO names, case by case, in virtual time.

    The scenario says which gateways run; the cases say over which path and with which clients. The exit status is 0
    when no case fails, and 1 when one does.
    """
    from scenarios.conformance import cases, tables

    if listed:
        print_table(Plain(), tables.CASE_HEADINGS, tables.case_rows())
        return 0
    if not scenario:
        raise UsageError("conformance: name a scenario, or give --list")
    chosen = [case for case in cases.CASES if not only or any(fnmatch.fnmatch(case.name, one) for one in only)]
    _check(only, output, [case.name for case in cases.CASES])
    plan = load_plan(scenario, overrides=overrides, seed=seed)
    results, about = _run(plan, scenario, chosen, jobs, seed)
    writers = {
        ".json": lambda: tables.document(about, results),
        ".md": lambda: tables.markdown(about, results),
        ".txt": lambda: tables.text(results),
    }
    for file in output:
        write_text(file, writers[file.suffix]())
    if as_json:
        click.echo(tables.document(about, results), nl=False)
    else:
        print_table(Plain(), tables.HEADINGS, tables.rows(results))
        click.echo(tables.summary(results))
    return EXIT_FAILED if any(one.fails for one in results) else 0


def _check(only: tuple[str, ...], output: tuple[Path, ...], known: list[str]) -> None:
    """UsageError for a case that does not exist, or a file that cannot be written."""
    for one in only:
        if not fnmatch.filter(known, one):
            raise UsageError(f"--only {one}: no such case; 'lfp conformance --list' shows all")
    for file in output:
        if file.suffix not in _WRITERS:
            raise UsageError(f"--output {file}: unknown ending; want {', '.join(_WRITERS)}")
        if not file.absolute().parent.is_dir():
            raise UsageError(f"--output {file}: no such folder; make it first")


def _run(plan: Plan, scenario: str, chosen: list[Any], jobs: int | None, seed: int) -> tuple[list[Any], dict[str, Any]]:
    from lfp.commands import _running
    from scenarios.conformance import inside, suite
    from scenarios.plan.estimate import spoken
    from scenarios.run import machine, runner
    from scenarios.run.terminal import console
    from scenarios.trial import programs

    _running.require([plan], virtual=True)
    out, first = console(stderr=True), plan.trials[0]
    if len(plan.trials) > 1:
        out.print(f"lfp: uses the gateways of trial 0 of {len(plan.trials)}; --set selects others", markup=False)

    def done(one: suite.Result, count: int, left_s: float) -> None:
        says = one.says if one.result != inside.PASSES else ""
        left = f"{spoken(left_s)} left" if count < len(chosen) else "done"
        line = f"{count:>{len(str(len(chosen)))}}/{len(chosen)}  {one.case.name:<18}  {one.result:<14}  {says}"
        out.print(f"{line.rstrip()}  ({left})", markup=False)

    at_a_time, cases = jobs or os.cpu_count() or 1, "1 case" if len(chosen) == 1 else f"{len(chosen)} cases"
    out.print(f"{plan.name}: {cases}, about {spoken(suite.expected_s(chosen, at_a_time))}", markup=False)
    with runner.owned() as (ledger, _):
        results = suite.run(first, chosen, at_a_time, ledger, done)
    about = {
        "scenario": scenario,
        "title": plan.base.scenario.title or plan.name,
        "seed": seed,
        "gateway": first.setting.gateway.kind,
        "model": first.setting.gateway.model,
        "programs": programs.hashes(first.setting),
        "lfp": machine.versions().get("lfp", ""),
    }
    return results, about
