"""Starts plans, finishes their runs and prints messages on the way; ``lfp run`` and ``lfp gate`` share it."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from lfp.commands import _show
from lfp.commands._time import choices
from netcommon import extras
from netcommon.errors import MissingError
from netcommon.printable import printable
from scenarios.plan import gateway_commands
from scenarios.plan.plan import Plan
from scenarios.run import checks, imported, manifest, plugins, runner, runs, shown
from scenarios.run.time_choice import Asked
from scenarios.virtual import randomness

_KEPT_TRIALS = 200  # trials of the largest run whose view is made at its end


def require(plans: Sequence[Plan], *, virtual: bool) -> None:
    """Raises MissingError when this machine lacks something that the plans need."""
    existing = [plan for plan in plans if plan.base.topology.kind == "existing"]
    if existing and any(plan.base.topology.left for plan in existing) and os.geteuid() != 0:
        raise MissingError("topology.left: the delay box joins interfaces of this machine; run it as root")
    virtual = virtual or len(existing) == len(plans)  # no network is made, so no privilege is needed
    settings = [trial.setting for plan in plans for trial in plan.trials]
    tools = dict.fromkeys(name for plan in plans for name in manifest.tools(plan))
    checks.require(list(tools), settings=settings, virtual=virtual)
    for plan in plans:
        if plan.base.run.precision is not None:
            extras.require("statistics", f"{plan.name}: run.precision")
        for case, programs in gateway_commands.missing(trial.setting for trial in plan.trials).items():
            others = f", or leave case '{case}' out (--set scenario.case=…)" if case else ""
            if "$gateway" in programs:
                variable = gateway_commands.VARIABLE
                raise MissingError(f"{plan.name}: $gateway: {variable} does not name a program of this machine; set it")
            raise MissingError(f"{plan.name}: gateway.programs: not found: {', '.join(programs)}; install it{others}")


def start(
    plans: Sequence[Plan],
    out: Console,
    *,
    clock: Asked,
    box: str | None,
    quick: bool,
    runs_dir: Path,
    elsewhere: bool = False,
    give_up: int | None = None,
) -> tuple[list[Path], str]:
    """The directories of new runs in real or virtual time, and advice about the machine (empty: none). ``box``: the
    delay box in virtual time. ``elsewhere``: other machines will run the trials, so this one needs no privilege.
    ``give_up``: see `runner.start`."""
    require(plans, virtual=clock != "real" or elsewhere)
    chosen = choices(plans, clock, out)
    require(plans, virtual=all(one.chosen == "virtual" for one in chosen) or elsewhere)
    run_dirs = []
    for plan, choice in zip(plans, chosen, strict=True):
        virtual_box = (box or "auto") if choice.chosen == "virtual" else None
        _print_notes(plan, out, virtual=virtual_box is not None)
        made = runner.start(plan, runs_dir, quick=quick, virtual_box=virtual_box, choice=choice, give_up=give_up)
        run_dirs.append(made)
    return run_dirs, next((one.advice for one in chosen if one.advice), "")


def finish(
    run_dirs: Sequence[Path],
    out: Console,
    jobs: int | None = None,
    advice: str = "",
    elsewhere: runner.Elsewhere | None = None,
) -> list[runner.Finished]:
    """Runs the trials that each run lacks, and prints the verdicts. ``advice``: printed at the end, unless it is
    empty. ``elsewhere``: other machines, which run the trials."""
    finished = []
    for run_dir in run_dirs:
        try:
            finished.append(runner.resume(run_dir, out, jobs=jobs or os.cpu_count() or 1, elsewhere=elsewhere))
        except KeyboardInterrupt:
            _say_how_to_resume(run_dir)
            raise
    reports = [path for done in finished for path in plugins.after_run(done.run_dir)]
    for done in finished:
        _print_verdict(done, out)
    if helps := advice or next((done.verdict["help"] for done in finished if done.verdict["help"]), None):
        out.print(f"help       {helps}", markup=False)
    _print_where([done.run_dir for done in finished], reports, out)
    for done in finished:
        _keep_view(done.run_dir)
    return finished


def _keep_view(run_dir: Path) -> None:
    """Makes the first ``lfp show`` of a run as fast as later ones, where making the view takes little time."""
    if len(runs.trial_folders(run_dir.resolve())) <= _KEPT_TRIALS:
        shown.keep(run_dir, _show.view(run_dir))


def _print_where(run_dirs: Sequence[Path], reports: Sequence[Path], out: Console) -> None:
    for path in reports:
        out.print(f"report     {path}", markup=False)
    if extras.missing("dashboard"):
        out.print(f"report     none; {extras.install('dashboard')} brings reports and 'lfp dashboard'", markup=False)
    elif run_dirs and "dashboard" in plugins.commands():  # one line is enough: that dashboard shows the other runs too
        out.print(f"dashboard  {_program()} dashboard {shlex.quote(str(run_dirs[0]))}", markup=False)


def say_imported(run_dir: Path, out: Console) -> None:
    """Writes the reports of a run of captures, and prints its kind and path."""
    content = runs.manifest(run_dir)
    reports = plugins.after_run(run_dir)
    _print_run(run_dir, content["verdict"], out)
    for label, text in imported.facts(content):
        out.print(f"{label.lower():<17}  {text}", markup=False)
    _print_where([run_dir], reports, out)


@contextlib.contextmanager
def workers_of(scheduler: str | None) -> Iterator[runner.Elsewhere | None]:
    """The workers of a Dask scheduler, or None without one. UsageError when no scheduler answers."""
    if not scheduler:
        yield None
        return
    extras.require("cluster", "--scheduler")
    from scenarios.cluster.pool import Pool  # not on top: loading Dask takes longer than most verbs

    with Pool(scheduler) as pool:
        yield pool


def failed(done: runner.Finished) -> bool:
    """Whether a measurement failed, or an expectation of the scenario is not met."""
    return bool(done.failed) or any(one.met is False for one in done.expected)


def _print_notes(plan: Plan, out: Console, *, virtual: bool) -> None:
    """Prints what the user should know before the plan runs."""
    for note in (*plan.notes, *(randomness.notes(plan) if virtual else ())):
        out.print(f"note       {plan.name}: {note}", markup=False)


def _print_run(run_dir: Path, verdict: dict[str, Any], out: Console) -> None:
    out.print(f"run        {run_dir}  ({'valid' if verdict['valid'] else 'NOT VALID'})", markup=False)
    if not verdict["valid"]:
        out.print(f"verdict    {verdict['summary']}", markup=False)


def _print_verdict(done: runner.Finished, out: Console) -> None:
    _print_run(done.run_dir, done.verdict, out)
    for sentence in done.verdict.get("computed", ()):
        out.print(f"note       {sentence}; the same seed will not give the same figures to the bit", markup=False)
    if done.expected:
        met = sum(one.met is True for one in done.expected)
        unjudged = sum(one.met is None for one in done.expected)
        more = f", {unjudged} not judged" if unjudged else ""
        out.print(f"expected   {met} of {len(done.expected)} met{more}", markup=False)
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
    command = f"{_program()} run --resume {shlex.quote(str(run_dir))}"
    click.echo(printable(f"lfp: {kept} trials kept; continue with: {command}"), err=True)
