"""``lfp list``: shows the library."""

from __future__ import annotations

import click

from scenarios.plan import estimate
from scenarios.plan.document import LIBRARY
from scenarios.plan.plan import Plan, load_plan
from scenarios.run.terminal import console, print_table


@click.command("list")
def command() -> None:
    """List the library's scenarios, with paper row, number of trials and estimated time."""
    rows = []
    for path in sorted(LIBRARY.glob("*.toml")):
        full, quick = load_plan(path.stem), load_plan(path.stem, quick=True)
        about = full.base.scenario
        rows.append((about.name, about.title, about.paper, *_size(full), *_size(quick)))
    print_table(console(), ("scenario", "title", "paper", "trials", "time", "quick: trials", "time"), rows)


def _size(plan: Plan) -> tuple[str, str]:
    seconds = sum(estimate.trial_s(trial.setting) for trial in plan.trials)
    return str(len(plan.trials)), estimate.spoken(seconds)
