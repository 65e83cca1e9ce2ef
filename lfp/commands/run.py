"""``lfp run``: runs scenarios and writes run directories."""

from __future__ import annotations

from pathlib import Path

import click

from lfp.commands import _running
from lfp.commands._options import (
    box_option,
    gateway_option,
    give_up_option,
    jobs_option,
    quick_option,
    runs_dir_option,
    scheduler_option,
    seed_option,
    set_option,
    time_option,
)
from netcommon.errors import EXIT_FAILED, LfpError, UsageError
from netcommon.strangers import refuse_foreign
from scenarios.plan.plan import load_plan
from scenarios.run import checks, manifest, ran, runner, runs
from scenarios.run.terminal import console
from scenarios.run.time_choice import Asked


@click.command("run")
@click.argument("scenarios", nargs=-1, metavar="SCENARIO...")
@quick_option
@set_option
@seed_option
@click.option("--resume", metavar="RUN", help="Continue a run (path, name or 'last') instead of starting one.")
@click.option("--cli", is_flag=True, help="Open Mininet's prompt on the first trial's path; measure nothing.")
@time_option(default="real")
@jobs_option
@box_option
@scheduler_option
@gateway_option
@give_up_option
@runs_dir_option
def command(
    scenarios: tuple[str, ...],
    quick: bool,
    overrides: tuple[str, ...],
    seed: int | None,
    resume: str | None,
    cli: bool,
    clock: Asked,
    jobs: int | None,
    box: str | None,
    scheduler: str | None,
    gateway: Path | None,
    give_up: int | None,
    runs_dir: Path,
) -> int:
    """Run scenarios: names from 'lfp list' or paths of .toml files."""
    out = console()
    _check_scheduler(scheduler, cli, clock, jobs)
    if resume:
        if scenarios or overrides or quick or cli or seed is not None or clock != "real" or box or gateway or give_up:
            allowed = "--jobs, --scheduler, --runs-dir"
            raise UsageError(f"--resume RUN: only {allowed} may be given with it; the run keeps its own values")
        run_dir = runs.find(resume, runs_dir)
        refuse_foreign(run_dir)
        found = runs.manifest(run_dir)
        plan = manifest.replan(found, run_dir)
        settings = [trial.setting for trial in plan.trials]
        checks.require(manifest.tools(plan), settings=settings, virtual="virtual" in found or bool(scheduler))
        with _running.workers_of(scheduler) as elsewhere:
            return _status(_running.finish([run_dir], out, jobs, elsewhere=elsewhere))
    if not scenarios:
        raise UsageError("run: name a scenario ('lfp list' shows the library) or give --resume RUN")
    if clock == "real" and (jobs or box):
        raise UsageError("--jobs, --box: with --time virtual only; in real time trials would disturb each other")
    plans = [load_plan(name, quick=quick, overrides=overrides, seed=seed) for name in scenarios]
    for plan in plans:
        if gateway:
            ran.check_plan("--gateway", gateway, plan)
    if cli:
        _running.require(plans, virtual=False)
        runner.prompt(plans[0], out)
        return 0
    with _running.workers_of(scheduler) as elsewhere:
        run_dirs, advice = _running.start(
            plans,
            out,
            clock=clock,
            box=box,
            quick=quick,
            runs_dir=runs_dir,
            elsewhere=elsewhere is not None,
            give_up=give_up,
        )
        finished = _running.finish(run_dirs, out, jobs, advice, elsewhere)
    for done in finished:
        if gateway and (why := ran.objection("--gateway", gateway, done.run_dir)):
            raise LfpError(why)
    return _status(finished)


def _check_scheduler(scheduler: str | None, cli: bool, clock: Asked, jobs: int | None) -> None:
    """UsageError for what --scheduler excludes."""
    if scheduler and (cli or clock == "auto" or jobs):
        option = "--cli" if cli else "--jobs" if jobs else "--time auto"
        why = {
            "--cli": "the prompt needs the path on this machine; leave one of them out",
            "--jobs": "the threads of the workers say how many trials run at a time; leave one of them out",
            "--time auto": "it would judge this machine and not the workers'; want --time real or --time virtual",
        }
        raise UsageError(f"--scheduler {scheduler}: not with {option}: {why[option]}")


def _status(finished: list[runner.Finished]) -> int:
    return EXIT_FAILED if any(_running.failed(done) for done in finished) else 0
