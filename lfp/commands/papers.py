"""``lfp papers``: runs the scenarios of the papers' rows, keeps what they measure and writes the reproduction book."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import click
from rich.console import Console

from lfp.commands._options import runs_dir_option
from netcommon import readable, result_rows
from netcommon.errors import EXIT_FAILED, LfpError, UsageError
from netcommon.strangers import refuse_links, write_text
from scenarios.papers import book, claims, rows, stored
from scenarios.papers.stored import Form, Stored
from scenarios.plan import params
from scenarios.plan.plan import Plan, load_plan
from scenarios.run import checks, machine, manifest, runner, runs
from scenarios.run.terminal import console

SEED = 1995


def known() -> list[str]:
    """The scenarios that measure something for the book, each once."""
    return list(dict.fromkeys([*rows.scenarios(), *claims.scenarios()]))


@click.command("papers")
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO...]")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the book to this file.  [default: standard output]",
)
@click.option(
    "--kept",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Store results in this folder, and read from it the results of scenarios that do not run now.",
)
@click.option("--no-run", is_flag=True, help="Run nothing: write the book from the results in --kept.")
@click.option("--whole", is_flag=True, help="Run the whole forms of the scenarios named.")
@click.option("--jobs", type=click.IntRange(1, 64), help="Trials that run at a time.  [default: processors]")
@click.option(
    "--newest", is_flag=True, help="Take the newest complete run of a scenario from --runs-dir where there is one."
)
@runs_dir_option
def command(
    scenarios: tuple[str, ...],
    output: Path | None,
    kept: Path | None,
    no_run: bool,
    whole: bool,
    jobs: int | None,
    newest: bool,
    runs_dir: Path,
) -> int:
    """Run the scenarios that measure the papers' rows, all or those named, in quick form and virtual time."""
    if unknown := [name for name in scenarios if name not in known()]:
        raise UsageError(f"papers {unknown[0]}: measures no row of a paper; those that do: {', '.join(known())}")
    if no_run and not kept:
        raise UsageError("papers --no-run: has no results to write; give --kept FOLDER, or leave --no-run out")
    if whole and not scenarios:
        raise UsageError("papers --whole: takes hours for all; name the scenarios whose whole forms are wanted")
    measured: dict[tuple[str, Form], Stored] = {}
    named = [] if no_run else [(name, _form(name, whole)) for name in scenarios or known()]
    plans = [load_plan(name, quick=form == "quick", seed=SEED) for name, form in named]
    checks.require(list(dict.fromkeys(tool for plan in plans for tool in manifest.tools(plan))), virtual=True)
    out = console()
    for number, (plan, (name, form)) in enumerate(zip(plans, named, strict=True), 1):
        out.print(f"scenario   {number} of {len(plans)}: {name}, {form} form", markup=False)
        run_dir = (_newest(plan, runs_dir) if newest else None) or _run(plan, form, runs_dir, out, jobs)
        measured[name, form] = _read(name, form, run_dir)
        if kept:
            stored.write(kept, name, form, measured[name, form])
    text = book.page(claims.load(), rows.load(), _all(measured, kept), _about())
    if output:
        write_text(output, text)
    else:
        click.echo(text, nl=False)
    return 0 if all(one.good for one in measured.values()) else EXIT_FAILED


def _form(scenario: str, whole: bool) -> Form:
    return "whole" if whole or not stored.has_quick(scenario) else "quick"


def _run(plan: Plan, form: Form, runs_dir: Path, out: Console, jobs: int | None) -> Path:
    run_dir = runner.start(plan, runs_dir, quick=form == "quick", virtual_box="auto")
    done = runner.resume(run_dir, out, jobs=jobs or os.cpu_count() or 1)
    for line in (line for one in done.expected for line in one.lines()):
        out.print(line, markup=False)
    return run_dir


def _newest(plan: Plan, runs_dir: Path) -> Path | None:
    """The newest complete run of this very plan."""
    candidates = sorted(runs_dir.glob(f"{plan.name}-*/manifest.json"), reverse=True)
    for run_dir in (candidate.parent for candidate in candidates):
        try:
            refuse_links(run_dir)
            content = runs.manifest(run_dir)
        except LfpError:  # a stranger's, or a later lfp's
            continue
        done = content["state"] == "done" and "virtual" in content
        if done and _same(manifest.replan(content, run_dir), plan):
            return run_dir
    return None


def _same(one: Plan, other: Plan) -> bool:
    """Whether two plans have the same trials and expect the same. A model's file is in the run for one of them, and
    next to the scenario for the other."""
    trials = [[params.of(trial) for trial in plan.trials] for plan in (one, other)]
    return trials[0] == trials[1] and one.base.expect == other.base.expect


def _read(scenario: str, form: Form, run_dir: Path) -> Stored:
    content = runs.manifest(run_dir)
    results = stored.trimmed(scenario, result_rows.rows(run_dir / "results.parquet"))
    about = {"date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}", "seed": SEED, "lfp": machine.versions()["lfp"]}
    expected = [{"say": one["say"], "met": one["met"]} for one in content.get("expected", [])]
    return Stored(stored.digest(scenario, form), about, bool(content["verdict"]["valid"]), expected, results)


def _all(measured: dict[tuple[str, Form], Stored], kept: Path | None) -> book.Kept:
    """The results of this run, and the stored results of other scenarios and forms."""
    forms: dict[Form, dict[str, Stored]] = {"quick": {}, "whole": {}}
    for form, by_scenario in forms.items():
        for name in known():
            one = measured.get((name, form)) or (stored.read(kept, name, form) if kept else None)
            if one:
                by_scenario[name] = one
    return book.Kept(forms["quick"], forms["whole"])


def _about() -> list[str]:
    return [
        f"{readable.count(len(known()))} scenarios, seed {SEED}; the dates of their runs are in the last table",
        f"lfp {machine.versions()['lfp']}; virtual time, so the figures do not depend on the machine",
    ]
