"""``--time auto``: measures this machine once, as 'lfp doctor' does, and chooses real or virtual time for each
scenario."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rich.console import Console

from netcommon import readable, unprivileged
from scenarios.plan.plan import Plan
from scenarios.run import checks, fitness, fitness_measure, runner
from scenarios.run.fitness import Fitness
from scenarios.run.time_choice import Asked, TimeChoice, choose_time
from scenarios.virtual import kernel


def measure(out: Console) -> Fitness:
    """This machine's figures. Says how long the measurement takes."""
    words = f"measuring this machine for {readable.number(fitness_measure.SECONDS)} s"
    if not out.is_terminal:
        out.print(words)
    with runner.owned() as (ledger, _), out.status(words):
        return fitness_measure.measure(ledger)


def choices(plans: Sequence[Plan], asked: Asked, out: Console) -> list[TimeChoice]:
    """Real or virtual time for each plan. Says what ``auto`` chose and why."""
    if asked != "auto":
        return [TimeChoice.given(asked) for _ in plans]
    obstacle = unprivileged.obstacle() if os.geteuid() != 0 else None
    if os.geteuid() != 0 and not obstacle:
        raise unprivileged.Outside  # before measuring: `lfp` starts again in a namespace and measures there
    measured = measure(out)
    no_virtual = (kernel.missing() or "").partition(";")[0] or None  # without the remedy, which becomes the advice
    found = []
    for plan in plans:
        settings = [one.setting for one in plan.trials]
        lacking = next((check for check in checks.hosts(settings) if check.state == "missing"), None)
        no_real = obstacle.what if obstacle else f"{lacking.name}: {lacking.detail}" if lacking else None
        found.append(choose_time(settings, measured, no_virtual, no_real))
    out.print(f"machine    good for {fitness.good_for(measured)}", markup=False)
    for plan, choice in zip(plans, found, strict=True):
        out.print(f"time       {plan.name}: {choice.chosen}: {choice.why}", markup=False)
    if advice := next((choice.advice for choice in found if choice.advice), ""):
        out.print(f"help       {advice}", markup=False)  # printed again at the end, but most users want it first
    return found
