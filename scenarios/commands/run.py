"""``lfp run``: scenarios to run directories."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import click
from rich.console import Console

from netcommon.errors import EXIT_FAILED, UsageError
from scenarios import checks, manifest, plugins, runner, runs
from scenarios.commands._options import runs_dir_option
from scenarios.plan import load_plan
from scenarios.terminal import console


@click.command("run")
@click.argument("scenarios", nargs=-1, metavar="SCENARIO...")
@click.option("--quick", is_flag=True, help="Use the scenario's [quick] values: the same shape in less time.")
@click.option("--set", "overrides", multiple=True, metavar="TABLE.KEY=VALUE",
              help="Set a value, or sweep it over A,B,… (repeatable).")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**53), help="Seed of order and delay box  [default: fresh, recorded]")
@click.option("--resume", metavar="RUN", help="Go on with a run (path, name or 'last') instead of starting one.")
@click.option("--cli", is_flag=True, help="Open Mininet's prompt on the first trial's path; measure nothing.")
@click.option("--time", "clock", type=click.Choice(["real", "virtual"]), default="real", show_default=True,
              help="Virtual: each trial in a kernel of its own whose clock jumps.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(1, 64),
              help="Trials at a time, in virtual time only.  [default: processors]")  # fmt: skip
@click.option("--box", type=click.Choice(["auto", "netem", "comet"]),
              help="Delay box in virtual time.  [default: auto]")  # fmt: skip
@runs_dir_option
def command(
    scenarios: tuple[str, ...],
    quick: bool,
    overrides: tuple[str, ...],
    seed: int | None,
    resume: str | None,
    cli: bool,
    clock: str,
    jobs: int | None,
    box: str | None,
    runs_dir: Path,
) -> int:
    """Run scenarios: names from 'lfp list' or paths of .toml files."""
    out = console()
    if resume:
        if scenarios or overrides or quick or cli or seed is not None or clock != "real" or box:
            raise UsageError("--resume RUN: takes nothing beside it but --jobs, --runs-dir; the run's own values hold")
        run_dir = runs.find(resume, runs_dir)
        checks.require(manifest.tools(manifest.replan(runs.manifest(run_dir))))
        return _finish_all([run_dir], out, jobs)
    if not scenarios:
        raise UsageError("run: name a scenario ('lfp list' shows the library) or give --resume RUN")
    if clock == "real" and (jobs or box):
        raise UsageError("--jobs, --box: with --time virtual only; in real time trials would disturb each other")
    plans = [load_plan(name, quick=quick, overrides=overrides, seed=seed) for name in scenarios]
    checks.require(dict.fromkeys(name for plan in plans for name in manifest.tools(plan)))
    if cli:
        runner.prompt(plans[0], out)
        return 0
    virtual_box = (box or "auto") if clock == "virtual" else None
    run_dirs = [runner.start(plan, runs_dir, quick=quick, virtual_box=virtual_box) for plan in plans]
    return _finish_all(run_dirs, out, jobs)


def _finish_all(run_dirs: list[Path], out: Console, jobs: int | None = None) -> int:
    """Runs what is left of each; 1 when a measurement failed."""
    finished = []
    for run_dir in run_dirs:
        try:
            finished.append(runner.resume(run_dir, out, jobs=jobs or os.cpu_count() or 1))
        except KeyboardInterrupt:
            _say_how_to_resume(run_dir)
            raise
    reports = [path for done in finished for path in plugins.after_run(done.run_dir)]
    for done in finished:
        state = "valid" if done.verdict["valid"] else f"NOT VALID: {'; '.join(done.verdict['reasons'])}"
        out.print(f"run        {done.run_dir}  ({state})", markup=False)
    for path in reports:
        out.print(f"report     {path}", markup=False)
    if finished and "dashboard" in plugins.commands():  # one is enough: it shows the runs beside it too
        out.print(f"dashboard  {_program()} dashboard {shlex.quote(str(finished[0].run_dir))}", markup=False)
    return EXIT_FAILED if any(done.failed for done in finished) else 0


def _program() -> str:
    """How this `lfp` can be started again from here: by name where PATH has it, else by path."""
    if shutil.which("lfp"):
        return "lfp"
    own = Path(sys.argv[0])
    return shlex.quote(str(own if own.name == "lfp" else Path(sys.prefix) / "bin/lfp"))


def _say_how_to_resume(run_dir: Path) -> None:
    kept = len(runs.trial_folders(run_dir))
    click.echo(f"lfp: {kept} trials kept; go on with: {_program()} run --resume {shlex.quote(str(run_dir))}", err=True)
