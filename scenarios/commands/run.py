"""``lfp run``: runs scenarios and writes run directories."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import click
from rich.console import Console

from netcommon.errors import EXIT_FAILED, UsageError
from scenarios.commands._options import runs_dir_option
from scenarios.commands._time import choices
from scenarios.plan import randomness
from scenarios.plan.plan import Plan, load_plan
from scenarios.run import checks, manifest, plugins, runner, runs
from scenarios.run.terminal import console
from scenarios.run.time_choice import Asked


@click.command("run")
@click.argument("scenarios", nargs=-1, metavar="SCENARIO...")
@click.option("--quick", is_flag=True, help="Use the scenario's [quick] values: the same shape in less time.")
@click.option("--set", "overrides", multiple=True, metavar="TABLE.KEY=VALUE",
              help="Set a value, or sweep it over A,B,… (repeatable).")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**53),
              help="Seed of the trials' order and of the delay box.  [default: fresh, recorded]")  # fmt: skip
@click.option("--resume", metavar="RUN", help="Go on with a run (path, name or 'last') instead of starting one.")
@click.option("--cli", is_flag=True, help="Open Mininet's prompt on the first trial's path; measure nothing.")
@click.option("--time", "clock", type=click.Choice(["real", "virtual", "auto"]), default="real", show_default=True,
              help="Virtual: each trial runs in a kernel of its own whose clock jumps. Auto: measures this machine for "
                   "3 s, and takes real time where it is good enough for the scenario.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(1, 64),
              help="Trials that run at a time, in virtual time only.  [default: processors]")  # fmt: skip
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
    clock: Asked,
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
        found = runs.manifest(run_dir)
        checks.require(manifest.tools(manifest.replan(found)), virtual="virtual" in found)
        return _finish_all([run_dir], out, jobs)
    if not scenarios:
        raise UsageError("run: name a scenario ('lfp list' shows the library) or give --resume RUN")
    if clock == "real" and (jobs or box):
        raise UsageError("--jobs, --box: with --time virtual only; in real time trials would disturb each other")
    plans = [load_plan(name, quick=quick, overrides=overrides, seed=seed) for name in scenarios]
    tools = list(dict.fromkeys(name for plan in plans for name in manifest.tools(plan)))
    checks.require(tools, virtual=clock != "real" and not cli)
    if cli:
        runner.prompt(plans[0], out)
        return 0
    chosen = choices(plans, clock, out)
    checks.require(tools, virtual=all(one.chosen == "virtual" for one in chosen))
    run_dirs = []
    for plan, choice in zip(plans, chosen, strict=True):
        virtual_box = (box or "auto") if choice.chosen == "virtual" else None
        _print_notes(plan, out, virtual=virtual_box is not None)
        run_dirs.append(runner.start(plan, runs_dir, quick=quick, virtual_box=virtual_box, choice=choice))
    return _finish_all(run_dirs, out, jobs, advice=next((one.advice for one in chosen if one.advice), ""))


def _print_notes(plan: Plan, out: Console, *, virtual: bool) -> None:
    """Prints what the user should know before the plan runs."""
    for note in (*plan.notes, *(randomness.notes(plan) if virtual else ())):
        out.print(f"note       {plan.name}: {note}", markup=False)


def _finish_all(run_dirs: list[Path], out: Console, jobs: int | None = None, advice: str = "") -> int:
    """Runs the trials that each run lacks. The exit status is 1 when a measurement failed or an expectation of the
    scenario is not met. ``advice``: printed at the
    end, unless it is empty."""
    finished = []
    for run_dir in run_dirs:
        try:
            finished.append(runner.resume(run_dir, out, jobs=jobs or os.cpu_count() or 1))
        except KeyboardInterrupt:
            _say_how_to_resume(run_dir)
            raise
    reports = [path for done in finished for path in plugins.after_run(done.run_dir)]
    for done in finished:
        _print_verdict(done, out)
    if helps := advice or next((done.verdict["help"] for done in finished if done.verdict["help"]), None):
        out.print(f"help       {helps}", markup=False)
    for path in reports:
        out.print(f"report     {path}", markup=False)
    if finished and "dashboard" in plugins.commands():  # one line is enough: that dashboard shows the other runs too
        out.print(f"dashboard  {_program()} dashboard {shlex.quote(str(finished[0].run_dir))}", markup=False)
    unmet = any(one.met is False for done in finished for one in done.expected)
    return EXIT_FAILED if unmet or any(done.failed for done in finished) else 0


def _print_verdict(done: runner.Finished, out: Console) -> None:
    out.print(f"run        {done.run_dir}  ({'valid' if done.verdict['valid'] else 'NOT VALID'})", markup=False)
    if not done.verdict["valid"]:
        out.print(f"verdict    {done.verdict['summary']}", markup=False)
    if done.expected:
        met = sum(one.met is True for one in done.expected)
        out.print(f"expected   {met} of {len(done.expected)} met", markup=False)
    for line in (line for one in done.expected for line in one.lines()):
        out.print(line, markup=False)
    if done.superseded:
        out.print(f"repeated   {done.superseded} attempts were not valid; 'lfp show' lists them", markup=False)


def _program() -> str:
    """How the user can start this `lfp` again: by name where PATH has it, otherwise by path."""
    if shutil.which("lfp"):
        return "lfp"
    own = Path(sys.argv[0])
    return shlex.quote(str(own if own.name == "lfp" else Path(sys.prefix) / "bin/lfp"))


def _say_how_to_resume(run_dir: Path) -> None:
    kept = len(runs.trial_folders(run_dir))
    click.echo(f"lfp: {kept} trials kept; go on with: {_program()} run --resume {shlex.quote(str(run_dir))}", err=True)
