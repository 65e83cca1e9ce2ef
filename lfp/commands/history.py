"""``lfp history``: a metric over all runs, by the build that was measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import click

from lfp.commands._options import margin_option, metric_option, runs_dir_option, share
from netcommon import readable
from netcommon.errors import UsageError
from netcommon.printable import printable
from scenarios.plan import cells
from scenarios.run import history, plugins
from scenarios.run.history import Entry
from scenarios.run.terminal import console, print_table


@click.command("history")
@metric_option
@margin_option
@click.option("--scenario", metavar="NAME", help="Only runs of this scenario.  [default: all]")
@click.option("--last", type=click.IntRange(1), default=20, show_default=True, help="Only the newest runs.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each cell of a run.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw it into FILE, an HTML page that needs no network, instead of the table.",
)
@runs_dir_option
def command(
    metric: str, margin: str, scenario: str | None, last: int, as_json: bool, plot: Path | None, runs_dir: Path
) -> None:
    """Show a metric over all runs in --runs-dir, by commit of lfp and of the gateway.

    Each row is a cell of a run, which is all its valid trials of one setting. Its ratio to the previous run with this
    cell has a 95 % interval; 'same' and 'changed' are decided by --margin, as in 'lfp compare'.
    """
    if plot and as_json:
        raise UsageError("--plot: not with --json; leave one of them out")
    for why in history.left_out(runs_dir):
        click.echo(f"lfp: left out: {why}", err=True)
    found = history.entries(runs_dir, metric, scenario=scenario, last=last, margin=share(margin))
    if as_json:
        for entry in found:
            click.echo(json.dumps(_as_json(entry, metric), ensure_ascii=False))
        return
    if not found:
        raise UsageError(f"history: no valid trial with {metric} in {runs_dir}; 'lfp show RUN' says why")
    if plot:
        click.echo(printable(str(plugins.plot("history")(found, metric, plot))))
        return
    out = console()
    found.sort(key=lambda entry: str(entry.manifest["name"]))
    for number, (name, entries) in enumerate(groupby(found, key=lambda entry: str(entry.manifest["name"]))):
        out.print(f"{'' if number == 0 else chr(10)}{name}: {metric}, median of the valid trials", markup=False)
        _print(list(entries), metric)


def _print(entries: Sequence[Entry], metric: str) -> None:
    """The table of one scenario: cells one after the other, each from its oldest run to its newest."""
    settings = [entry.setting | {"time": entry.time} for entry in entries]
    factors = cells.telling(settings, given=("time",))
    texts = cells.texts_by_column(settings, factors)
    order = {key: place for place, key in enumerate(cells.groups(settings, ("time", *factors)))}
    pairs = sorted(zip(settings, entries, strict=True), key=lambda pair: order[cells.key(pair[0], ("time", *factors))])
    names = (*(cells.heading(name) for name in factors), "time", "started (UTC)", "lfp", "gateway", "run", "trials")
    print_table(
        console(),
        (*names, "median", "least", "most", "ratio to previous run"),
        [(*(texts[name][setting.get(name)] for name in factors), *_figures(entry, metric)) for setting, entry in pairs],
    )


def _figures(entry: Entry, metric: str) -> tuple[str, ...]:
    return (
        entry.time,
        entry.started[:16].replace("T", " "),
        entry.build("lfp") or readable.NOTHING,
        entry.gateway_build or readable.NOTHING,
        entry.run.name,
        str(entry.trials),
        *(readable.named(metric, value) for value in (entry.median, entry.least, entry.most)),
        entry.against_before or readable.NOTHING,
    )


def _as_json(entry: Entry, metric: str) -> dict[str, object]:
    return {
        "v": 1,
        "scenario": entry.manifest["name"],
        "metric": metric,
        "run": entry.run.name,
        "path": str(entry.run),
        "started": entry.started,
        "time": entry.time,
        "commits": entry.manifest.get("commits") or {},
        "hashes": entry.manifest.get("hashes") or {},
        "setting": entry.setting,
        "trials": entry.trials,
        "median": entry.median,
        "min": entry.least,
        "max": entry.most,
        "ratio": entry.ratio,
        "interval": entry.interval,
        "change": entry.change,
    }
