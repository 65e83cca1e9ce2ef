"""``lfp papers``: runs the scenarios of the papers' rows and writes the reproduction book."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import click
import pyarrow.parquet as parquet
from rich.console import Console

from netcommon import readable
from netcommon.errors import EXIT_FAILED, UsageError
from scenarios.commands._options import runs_dir_option
from scenarios.papers import book, rows
from scenarios.papers.book import Measured
from scenarios.plan.plan import Plan, load_plan
from scenarios.run import checks, machine, manifest, runner, runs
from scenarios.run.terminal import console

SEED = 1995


@click.command("papers")
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO...]")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write the book to this file.  [default: standard output]")  # fmt: skip
@click.option("--jobs", type=click.IntRange(1, 64), help="Trials that run at a time.  [default: processors]")
@click.option("--newest", is_flag=True,
              help="Take the newest complete run of a scenario from --runs-dir where there is one.")  # fmt: skip
@runs_dir_option
def command(scenarios: tuple[str, ...], output: Path | None, jobs: int | None, newest: bool, runs_dir: Path) -> int:
    """Run the scenarios that measure the papers' rows, all or those named, in quick form and virtual time."""
    out = console()
    known = rows.scenarios()
    if unknown := [name for name in scenarios if name not in known]:
        raise UsageError(f"papers {unknown[0]}: measures no row of a paper; those that do: {', '.join(known)}")
    plans = [load_plan(name, quick=True, seed=SEED) for name in scenarios or known]
    checks.require(list(dict.fromkeys(tool for plan in plans for tool in manifest.tools(plan))), virtual=True)
    found = {}
    for number, plan in enumerate(plans, 1):
        out.print(f"scenario   {number} of {len(plans)}: {plan.name}", markup=False)
        run_dir = (_newest(plan, runs_dir) if newest else None) or _run(plan, runs_dir, out, jobs)
        found[plan.name] = _read(run_dir)
    text = book.page(rows.load(), found, _about(found))
    if output:
        _write(output, text)
    else:
        click.echo(text, nl=False)
    return 0 if all(one.good for one in found.values()) else EXIT_FAILED


def _run(plan: Plan, runs_dir: Path, out: Console, jobs: int | None) -> Path:
    run_dir = runner.start(plan, runs_dir, quick=True, virtual_box="auto")
    done = runner.resume(run_dir, out, jobs=jobs or os.cpu_count() or 1)
    for line in (line for one in done.expected for line in one.lines()):
        out.print(line, markup=False)
    return run_dir


def _newest(plan: Plan, runs_dir: Path) -> Path | None:
    """The newest complete run of this very plan."""
    candidates = sorted(runs_dir.glob(f"{plan.name}-*/manifest.json"), reverse=True)
    for run_dir in (candidate.parent for candidate in candidates):
        content = runs.manifest(run_dir)
        done = content["state"] == "done" and "virtual" in content
        if done and manifest.replan(content, run_dir).trials == plan.trials:
            return run_dir
    return None


def _read(run_dir: Path) -> Measured:
    content = runs.manifest(run_dir)
    results = parquet.read_table(run_dir / "results.parquet").to_pylist()
    return Measured(results, content.get("expected", []), content["verdict"])


def _about(found: dict[str, Measured]) -> list[str]:
    trials = sum(len(one.results) for one in found.values())
    now = datetime.datetime.now(datetime.UTC)
    return [
        f"date: {now:%Y-%m-%d} (UTC)",
        f"runs: {readable.count(len(found))} scenarios with {readable.count(trials)} trials, seed {SEED}",
        f"lfp {machine.versions()['lfp']}; virtual time, so the machine has no part in the figures",
    ]


def _write(file: Path, text: str) -> None:
    """A reader finds the old page or the new one."""
    temporary = file.with_name(f".{file.name}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.rename(file)
