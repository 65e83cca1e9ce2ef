"""Whether scenarios should wait for a virtual-time kernel: yes or no.

``python -m scenarios.run.kernel_needed NAME…`` prints the answer.

`make demo` asks before it builds a kernel, which takes minutes. Building pays where this machine disturbs real time
more than the scenarios' ``--quick`` values allow, so that ``lfp run --time auto`` would choose virtual time if it
could. The answer is a line on stdout, and the reason is a line on stderr. Rejected: always building the kernel in the
background of ``make setup``. The build needs packages that are installed there, competes with the compilation of the
tools for the processors, and is often not needed.
"""

from __future__ import annotations

import sys

import click

from netcommon import unprivileged
from netcommon.errors import LfpError
from scenarios.plan.plan import load_plan
from scenarios.run import fitness, fitness_measure, runner
from scenarios.virtual import kernel


def reason(names: list[str]) -> str | None:
    """The reason why these scenarios need a kernel that does not exist yet, or None. Measures the machine for a few
    seconds."""
    if not kernel.missing():
        return None
    if not unprivileged.is_root() and (obstacle := unprivileged.obstacle()):
        return f"no real time here: {obstacle.what}"
    settings = [trial.setting for name in names for trial in load_plan(name, quick=True).trials]
    with runner.owned() as (ledger, _):
        measured = fitness_measure.measure(ledger)
    return "; ".join(fitness.objections(measured, settings)) or None


def main() -> int:
    """What ``make demo`` runs. An error counts as "no", because the next step will report it."""
    try:
        why = reason(sys.argv[1:])
    except LfpError as error:
        click.echo(f"== virtual-time kernel: cannot tell whether it is needed: {error}", err=True)
        why = None
    else:
        needed = f"needed, for this machine disturbs real time: {why}" if why else "not needed, or there already"
        click.echo(f"== virtual-time kernel: {needed}", err=True)
    click.echo("yes" if why else "no")
    return 0


if __name__ == "__main__":
    sys.exit(main())
