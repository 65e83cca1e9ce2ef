"""``lfp list``: the library."""

from __future__ import annotations

import click

from scenarios import estimate
from scenarios.document import LIBRARY
from scenarios.plan import Plan, load_plan
from scenarios.terminal import console, print_table


@click.command("list")
def command() -> None:
    """List the library's scenarios with paper row, trials and estimated time."""
    rows = []
    for path in sorted(LIBRARY.glob("*.toml")):
        full, quick = load_plan(path.stem), load_plan(path.stem, quick=True)
        about = full.base.scenario
        rows.append((about.name, about.title, about.paper, *_size(full), *_size(quick)))
    print_table(console(), ("scenario", "title", "paper", "trials", "time", "quick: trials", "time"), rows)


def _size(plan: Plan) -> tuple[str, str]:
    seconds = sum(estimate.trial_s(trial.setting) for trial in plan.trials)
    return str(len(plan.trials)), estimate.spoken(seconds)
