"""``lfp bench``: measures ratios side by side."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from bench import publish as page
from bench import registry
from netcommon.errors import UsageError
from scenarios.run import checks
from scenarios.run.runner import owned
from scenarios.run.terminal import console


@click.command("bench")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines instead of the table.")
@click.option("--pairs", type=click.IntRange(1, 100), help="Number of pairs.  [default: the bench's own]")
@click.option("--seconds", type=click.IntRange(1, 86400), help="How long to measure each.  [default: the bench's own]")
@click.option(
    "--packets",
    type=click.IntRange(10_000, 1_000_000_000),
    help="Packets in the captures that log.* and dashboard.* read.  [default: the bench's own]",
)
@click.option(
    "--product",
    "products",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Compare the gateways of this scenario, too: of gateways and gateways.virtual (repeatable).",
)
@click.option("--list", "list_them", is_flag=True, help="List the benches.")
@click.option(
    "--publish",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the benches' tables to this Markdown page; tables of other benches there stay.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("bench-results.jsonl"),
    show_default=True,
    help="File to append JSON lines to.",
)
def command(
    names: tuple[str, ...],
    as_json: bool,
    pairs: int | None,
    seconds: int | None,
    packets: int | None,
    products: tuple[Path, ...],
    list_them: bool,
    publish: Path | None,
    output: Path,
) -> None:
    """Run benches (all by default), print a table, and append JSON lines to bench-results.jsonl."""
    known = registry.load()
    if list_them:
        for bench in known.values():
            click.echo(f"{bench.name:<20} {bench.summary}")
        return
    for name in names:
        if name not in known:
            raise UsageError(f"bench '{name}': unknown; allowed: {', '.join(known)}")
    checks.require(("comet-delay", "pktlogger"), ("iperf3", "ethtool"))
    out = console(stderr=as_json)

    def say(text: str) -> None:
        out.print(f"  {text}", markup=False)

    for name in names or known:
        with owned() as (ledger, scratch):
            for result in known[name].measure(registry.Place(ledger, scratch, pairs, say, seconds, packets, products)):
                line = json.dumps(result.as_json())
                with output.open("a", encoding="utf-8") as results:
                    results.write(line + "\n")
                click.echo(line) if as_json else _show(out, result)
                if publish and result.rows:
                    page.write(result, publish)


def _show(out: Console, result: registry.Result) -> None:
    out.print(result.row(), markup=False)
    if not result.rows:
        return
    table = Table("figure", "measured", "low", "high", "unit", "", "")
    for row in result.rows:
        figures = (f"{value:.7g}" for value in (row.measured, row.low, row.high))
        table.add_row(row.what, *figures, row.unit, "within" if row.within else "OUTSIDE", row.note)
    out.print(table)
