"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from lfp.commands._runs_dir import runs_dir_option as runs_dir_option  # the others are here
from netcommon import quantity, readable
from netcommon.errors import UsageError
from scenarios.run import judgement

quick_option = click.option(
    "--quick",
    is_flag=True,
    help="Use the scenario's [quick] values: the same shape in less time.",
)
set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="TABLE.KEY=VALUE",
    help="Set a value, or sweep it over A,B,… (repeatable).",
)
seed_option = click.option(
    "--seed",
    type=click.IntRange(0, 2**53),
    help="Seed of the trials' order and of the delay box.  [default: fresh, recorded]",
)
jobs_option = click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    help="Trials that run at a time, in virtual time only.  [default: processors]",
)
box_option = click.option(
    "--box",
    type=click.Choice(["auto", "netem", "comet", "kernel"]),
    help="Delay box in virtual time.  [default: auto]",
)
scheduler_option = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Hand the trials to the workers of the Dask scheduler at ADDRESS, such as tcp://10.0.0.1:8786.",
)
metric_option = click.option(
    "--metric",
    default="short_term_bps",
    show_default=True,
    help="Measured column of results.parquet.",
)
lower_option = click.option(
    "--lower-is-better",
    is_flag=True,
    help="A smaller value of the metric is better, as for elapsed_ns or retransmits.",
)
margin_option = click.option(
    "--margin",
    "--within",
    "margin",
    default=readable.share(judgement.MARGIN).replace(" ", ""),
    show_default=True,
    help="Largest difference of a ratio from 1 that still counts as the same; below 100%.",
)
undecided_option = click.option(
    "--allow-undecided",
    is_flag=True,
    help="Let undecided cells pass: they may be worse.",
)
give_up_option = click.option(
    "--give-up",
    type=click.IntRange(1),
    metavar="N",
    help="End the run when its first N trials failed with the same message.  [default: never; lfp gate: 3]",
)
gateway_option = click.option(
    "--gateway",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Program that the run's gateways must use, compared by its hash.",
)
across_option = click.option(
    "--across",
    multiple=True,
    metavar="SETTING",
    help="A setting that may differ between the runs, such as gateway.rate (repeatable).",
)


def time_option(default: str | None, otherwise: str = "") -> Callable[[Any], Any]:
    """``--time``. ``otherwise``: its value when the user does not give it and there is no ``default``."""
    return click.option(
        "--time",
        "clock",
        type=click.Choice(["real", "virtual", "auto"]),
        default=default,
        show_default=True,
        help="Virtual: each trial runs in its own kernel, whose clock jumps to the next event. Auto: measures this "
        "machine for 3 s, and uses real time if the machine is good enough for the scenario." + otherwise,
    )


def share(text: str) -> float:
    """The value of ``--margin``, a fraction below 1: with more, every collapse would count as the same."""
    try:
        found = quantity.parse(quantity.RATIO, text) / quantity.RATIO_ONE_PPB
    except ValueError as error:
        raise UsageError(f"--margin {text}: {error}") from None
    if found >= 1:
        raise UsageError(f"--margin {text}: {readable.share(found)}; want less than 100 %, such as --margin 5%")
    return found
