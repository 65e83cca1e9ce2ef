"""``lfp trc``: searches for the best rate at which to pace TCP in front of a receiver that is limited by its I/O
(tgnle-2006 fig4).

Below the receiver's limit throughput grows with the paced rate. Above it packets are lost and throughput breaks down.
So bisection finds the highest rate that still brings its share of throughput. Its trials are in a run directory like
any other: each decision adds a value to the run's sweep, and the runner measures what is missing. Rejected: comparing
throughputs alone. With a fast congestion control the throughput far above the limit can be higher than far below it.
"""

from __future__ import annotations

import csv
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from lfp.commands._options import runs_dir_option
from netcommon import readable
from netcommon.errors import LfpError, UsageError
from scenarios.plan.estimate import spoken
from scenarios.plan.plan import Plan, load_plan
from scenarios.run import checks, manifest, results, runner, runs
from scenarios.run.terminal import console
from scenarios.trial.files import write_json
from scenarios.trial.trial import folder_of

# A rate holds if its throughput for each packet/s is at least this share of the best rate's so far; with less it has
# broken down. The share is not 1, because a higher rate spends more of the trial in slow start.
SHARE = 0.85
NEIGHBOURS = (0.99, 1.01)  # multiples of the best rate that are also measured, to show its surroundings
KEY = "path.ab_rate"


@dataclass
class Search:
    """Bisection between a rate (packets/s) that holds and one that does not. ``measure`` returns bit/s."""

    measure: Callable[[int], float]
    low: int
    high: int
    precision: float
    curve: dict[int, float] = field(default_factory=dict)

    def trials(self) -> int:
        """The greatest number of measurements that `best` will make."""
        steps = math.log(self.high / self.low) / math.log1p(self.precision)
        return 2 + max(math.ceil(math.log2(steps)), 0) + len(NEIGHBOURS)

    def best(self) -> int:
        """The highest rate that holds, within ``precision``. Its neighbours are then on the curve too. LfpError when
        that rate is not between ``low`` and ``high``."""
        good, bad = self.low, self.high
        if self._at(good) <= 0:
            raise LfpError(f"--low {good}: nothing arrived at this rate")
        if self._holds(bad, good):
            raise LfpError(f"--high {bad}: the receiver takes this rate; give a higher one")
        while bad / good > 1 + self.precision and bad - good > 1:
            middle = min(max(round(math.sqrt(good * bad)), good + 1), bad - 1)
            if self._holds(middle, good):
                good = middle
            else:
                bad = middle
        for factor in NEIGHBOURS:
            self._at(round(good * factor))
        return good

    def _at(self, pps: int) -> float:
        if pps not in self.curve:
            self.curve[pps] = self.measure(pps)
        return self.curve[pps]

    def _holds(self, pps: int, good: int) -> bool:
        return self._at(pps) / pps >= SHARE * self._at(good) / good


def rate_bps(pps: int, mtu: int) -> int:
    """The rate in bit/s of this number of full packets per second, as [path] framing ``ip`` counts them."""
    return pps * mtu * 8


class Trials:
    """The trials of one run directory, each decided after the one before."""

    def __init__(self, run_dir: Path, mtu: int) -> None:
        self.run_dir, self.mtu = run_dir, mtu
        self.rates: list[int] = []

    def measure(self, pps: int) -> float:
        """Adds the rate to the run's sweep and measures it; returns bit/s. LfpError when the trial fails."""
        self.rates.append(pps)
        content = runs.manifest(self.run_dir)
        content["scenario"]["path"].pop("ab_rate", None)
        content["scenario"]["sweep"] = {KEY: [f"{rate_bps(rate, self.mtu)}bit" for rate in self.rates]}
        content["plan"] = len(self.rates)
        runner.extend(self.run_dir, content)
        runner.resume(self.run_dir, Console(quiet=True))
        row: dict[str, Any] = results.row(folder_of(self.run_dir, len(self.rates) - 1))
        if row["short_term_bps"] is None:
            raise LfpError(f"the trial at {pps} packets/s failed; see {self.run_dir}")
        return float(row["short_term_bps"])


@click.command("trc")
@click.argument("scenario", default="trc-tcp")
@click.option(
    "--low", type=click.IntRange(10, 10**8), help="Packets/s that the receiver takes.  [default: half its limit]"
)
@click.option(
    "--high",
    type=click.IntRange(10, 10**8),
    help="Packets/s that the receiver does not take.  [default: twice its limit]",
)
@click.option(
    "--precision",
    type=click.FloatRange(0.0005, 0.5),
    default=0.005,
    show_default=True,
    help="How close to the best rate the search must come, a ratio.",
)
@click.option("--quick", is_flag=True, help="Use the scenario's [quick] values.")
@click.option("--set", "overrides", multiple=True, metavar="TABLE.KEY=VALUE", help="Set a value (repeatable).")
@click.option("--seed", type=click.IntRange(0, 2**53), help="Seed of the delay box.  [default: fresh, recorded]")
@click.option(
    "--time",
    "clock",
    type=click.Choice(["real", "virtual"]),
    default="real",
    show_default=True,
    help="Virtual: each trial runs in its own kernel, whose clock jumps to the next event.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object, and no progress.")
@runs_dir_option
def command(
    scenario: str,
    low: int | None,
    high: int | None,
    precision: float,
    quick: bool,
    overrides: tuple[str, ...],
    seed: int | None,
    clock: str,
    as_json: bool,
    runs_dir: Path,
) -> None:
    """Search by bisection for the best rate at which to pace TCP in front of a receiver limited by its I/O."""
    plan = _plan(scenario, quick, overrides, seed)
    limit = int(plan.base.path.direction("ab").values["pace_packets"])
    low, high = low or limit // 2, high or limit * 2
    if not 0 < low < high:
        raise UsageError(f"--low {low}, --high {high}: want --low below --high, or path.ab_pace_packets")
    checks.require(manifest.tools(plan), virtual=clock == "virtual")
    run_dir = runner.start(plan, runs_dir, quick=quick, virtual_box="auto" if clock == "virtual" else None)
    trials = Trials(run_dir, plan.base.path.mtu)
    search = Search(trials.measure, low, high, precision)
    if not as_json:
        search.measure = _Told(trials.measure, search.trials()).measure
    found = _document(search, search.best(), run_dir)
    found["paper"] = paper(plan.base.report.reference, plan.base.path.mtu)
    write_json(run_dir / "trc.json", found)
    if as_json:
        click.echo(json.dumps(found))
    else:
        _show(found)


def _plan(scenario: str, quick: bool, overrides: tuple[str, ...], seed: int | None) -> Plan:
    """The plan of a scenario without a sweep: the search makes the sweep."""
    plan = load_plan(scenario, quick=quick, overrides=(*overrides, f"{KEY}=1Mbit"), seed=seed)
    if plan.sweep or len(plan.trials) != 1:
        raise UsageError(f"{scenario}: the search varies {KEY} alone; give single values, and run.repeat = 1")
    return plan


class _Told:
    """Measures like `Trials`, and prints a line for each measurement."""

    def __init__(self, measure: Callable[[int], float], expected: int) -> None:
        self._measure, self._expected = measure, expected
        self._made, self._begun = 0, time.monotonic()

    def measure(self, pps: int) -> float:
        bps = self._measure(pps)
        self._made += 1
        each_s = (time.monotonic() - self._begun) / self._made
        left_s = max(self._expected - self._made, 0) * each_s
        console().print(
            f"trial {self._made} of at most {self._expected}: {pps} packets/s → {readable.rate(bps)}; "
            f"{spoken(left_s)} left at most",
            markup=False,
        )
        return bps


def _document(search: Search, best: int, run_dir: Path) -> dict[str, Any]:
    """The result, for trc.json; ``curve`` is sorted by rate."""
    curve = [
        {"packets_per_s": pps, "short_term_bps": bps, "of_best": bps / search.curve[best]}
        for pps, bps in sorted(search.curve.items())
    ]
    return {
        "v": 1,
        "best_packets_per_s": best,
        "best_short_term_bps": search.curve[best],
        "precision": search.precision,
        "curve": curve,
        "run": str(run_dir),
    }


def paper(references: tuple[str, ...], mtu: int) -> list[dict[str, Any]]:
    """The best rates that the scenario's papers found: the highest row of kind ``best`` in each file of
    scenarios/reference. Their rate_bps counts packets as ours does."""
    found = []
    for name in references:
        text = (resources.files("scenarios") / "reference" / f"{name}.csv").read_text(encoding="utf-8")
        rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
        best = [row for row in rows if row.get("kind") == "best"]
        if best:
            row = max(best, key=lambda each: float(each["rate_bps"]))
            found.append(
                {
                    "name": name,
                    "packets_per_s": float(row["rate_bps"]) / (8 * mtu),
                    "short_term_bps": float(row["short_term_bps"]),
                }
            )
    return found


def _show(result: dict[str, Any]) -> None:
    out = console()
    for point in result["curve"]:
        share, rate = point["of_best"], readable.rate(point["short_term_bps"])
        bar = "#" * round(40 * min(share, 1.5))
        out.print(f"{point['packets_per_s']:>9} packets/s  {rate:>12}  {readable.share(share):>7}  {bar}", markup=False)
    best = result["best_packets_per_s"]
    out.print(f"best {best} packets/s: {readable.rate(result['best_short_term_bps'])}", markup=False)
    for theirs in result["paper"]:
        pps, rate = round(theirs["packets_per_s"]), readable.rate(theirs["short_term_bps"])
        ratio = readable.number(best / pps)
        out.print(f"paper {theirs['name']}: {pps} packets/s, {rate}; ours are {ratio} of that", markup=False)
    out.print(f"run  {result['run']}  (the picture: lfp report {result['run']})", markup=False)
