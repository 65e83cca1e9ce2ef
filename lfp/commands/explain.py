"""``lfp explain``: a scenario's settings, and the time, memory and disk that it will take, before it runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from lfp.commands._options import box_option, jobs_option, quick_option, runs_dir_option, set_option
from netcommon import readable
from scenarios.plan import cells, columns, estimate, params
from scenarios.plan.plan import Plan, Trial, load_plan
from scenarios.plan.shared_settings import shared_settings
from scenarios.run import forecast
from scenarios.run.forecast import Forecast, OfTrial
from scenarios.run.terminal import console, print_table
from scenarios.virtual import boxes, randomness


@click.command("explain")
@click.argument("scenario")
@quick_option
@set_option
@click.option(
    "--time",
    "clock",
    type=click.Choice(["real", "virtual"]),
    default="real",
    show_default=True,
    help="Kind of time for the run.",
)
@jobs_option
@box_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@runs_dir_option
def command(
    scenario: str,
    quick: bool,
    overrides: tuple[str, ...],
    clock: str,
    jobs: int | None,
    box: str | None,
    as_json: bool,
    runs_dir: Path,
) -> None:
    """Show what SCENARIO will do: settings, trials, time, memory, disk. Nothing runs.

    Earlier runs in --runs-dir correct the time.
    """
    plan, virtual = load_plan(scenario, quick=quick, overrides=overrides, seed=0), clock == "virtual"
    found = forecast.forecast(plan, runs_dir, virtual=virtual, box=box or "auto", jobs=jobs)
    if as_json:
        click.echo(json.dumps(_as_json(plan, found, clock), ensure_ascii=False))
    else:
        _print(plan, found, clock, runs_dir, box or "auto")


def _settings(plan: Plan) -> Sequence[Trial]:
    """The trials of the first repeat: one for each setting."""
    return plan.trials[: len(plan.trials) // plan.base.run.repeat]


def _as_json(plan: Plan, found: Forecast, clock: str) -> dict[str, Any]:
    settings = [
        {"params": _asked(trial), "transfer_s": estimate.transfer_s(trial.setting), "trial_s": takes.wall_s}
        for trial, takes in zip(_settings(plan), found.settings, strict=True)
    ]
    about = {"v": 1, "scenario": plan.name, "time": clock, "trials": len(plan.trials), "repeat": plan.base.run.repeat}
    return about | forecast.as_json(found) | {"settings": settings}


def _asked(trial: Trial) -> dict[str, Any]:
    own = params.of(trial)
    return {name: own[name] for name in columns.settings() if name in own}


def _print(plan: Plan, found: Forecast, clock: str, runs_dir: Path, box: str) -> None:
    out, trials = console(), _settings(plan)
    rows = [params.of(trial) for trial in trials]
    out.print(f"{plan.name}  {plan.base.scenario.title}".rstrip(), markup=False)
    out.print("  ".join(f"{name} {text}" for name, text in shared_settings(rows, plan.sweep)), markup=False)
    factors = cells.telling(rows, (), cells.preferred(plan.sweep))
    texts = cells.texts_by_column(rows, factors)
    names = (cells.heading(name, plan.sweep) for name in factors)
    print_table(
        out,
        (*names, "transfer", "wall time of a trial", "memory", "disk"),
        [
            (*(texts[name][row.get(name)] for name in factors), *_figures(trial, takes))
            for trial, row, takes in zip(trials, rows, found.settings, strict=True)
        ],
    )
    for line in _sums(plan, found, clock, runs_dir, box):
        out.print(line, markup=False)


def _figures(trial: Trial, takes: OfTrial) -> tuple[str, ...]:
    return (
        _seconds(estimate.transfer_s(trial.setting)),
        _seconds(takes.wall_s),
        readable.size(takes.memory_bytes, 2),
        readable.size(takes.disk_bytes, 2),
    )


def _seconds(value: float) -> str:
    return readable.duration(value * 1e9, 2)


def _sums(plan: Plan, found: Forecast, clock: str, runs_dir: Path, box: str) -> list[str]:
    repeat, count = plan.base.run.repeat, len(plan.trials)
    at_a_time = f", {found.jobs} at a time" if clock == "virtual" else ""
    lines = [
        f"trials     {count} = {count // repeat} × {repeat} (settings × repeats), {plan.base.run.order} order",
        f"time       {clock}{at_a_time}: about {estimate.spoken(found.seconds)}, {found.speed}",
        f"memory     {_of(found.memory_bytes, found.memory_free_bytes)}",
        f"disk       {_of(found.disk_bytes, found.disk_free_bytes)} ({runs_dir})",
    ]
    notes = (*plan.notes, *(randomness.notes(plan) if clock == "virtual" else ()))
    if clock == "virtual":
        notes = (*notes, *sorted({boxes.decides(trial, box) for trial in plan.trials}))
    return lines + [f"note       {note}" for note in notes]


def _of(most: int, free: int) -> str:
    lacking = ": NOT ENOUGH" if most > free else ""
    return f"at most {readable.size(most, 2)} of {readable.size(free, 2)} free{lacking}"
